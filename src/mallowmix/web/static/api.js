// Talking to the server: JSON in and out, the CSRF token sent along, every failure as one kind of error.

export class Trouble extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status; // 0: the server could not be reached
  }
  get passing() { return this.status === 0 || this.status === 429 || this.status >= 500; }
}

let csrf = '';

export async function call(method, path, body) {
  const headers = { Accept: 'application/json' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (method !== 'GET') headers['X-CSRF-Token'] = csrf;
  let response;
  try {
    response = await fetch(`/api/v1/${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), credentials: 'same-origin', cache: 'no-store' });
  } catch {
    throw new Trouble(0, 'The server cannot be reached.');
  }
  const data = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw new Trouble(response.status, data?.detail ?? `The server answered ${response.status}.`);
  if (data?.csrf) csrf = data.csrf;
  return data;
}

export const get = (path) => call('GET', path);
export const post = (path, body) => call('POST', path, body);

export function newKey() { // works without a secure context, too
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}
