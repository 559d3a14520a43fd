// Making elements: text is always text, never markup.

const SVG = 'http://www.w3.org/2000/svg';

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === 'color') node.style.setProperty('--c', value);
    else if (name === 'css') for (const [key, to] of Object.entries(value)) node.style.setProperty(key, to);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);
export const name = (text) => el('bdi', null, text);
export const byId = (id) => document.getElementById(id);
export const percent = (share) => `${Math.round(100 * share)}\u00a0%`;
// Of few, how many; of many, how much: never "20 % of 5".
export const share = (n, of) => (of < 20 ? `${n} of ${of}` : `${percent(n / of)} of ${of.toLocaleString('en')}`);
export const tasteName = (row, word = 'Taste') => `${word} ${row.component}${row.name ? `: ${row.name}` : ''}`;

// Labels of about so many letters; those that would be cut to the same text keep more.
export function shortLabels(names, letters) {
  const middle = (text, most) => { const end = Math.floor((most - 1) / 2); return text.length <= most ? text : `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`; };
  let cut = names.map((text) => (text.length <= letters ? text : `${text.slice(0, letters - 1)}…`));
  const longest = Math.max(0, ...names.map((text) => text.length));
  for (let most = letters; most < longest + 8 && new Set(cut).size < cut.length; most += 8) {
    const times = new Map();
    for (const text of cut) times.set(text, (times.get(text) ?? 0) + 1);
    cut = cut.map((text, n) => (times.get(text) > 1 ? middle(names[n], most) : text));
  }
  return cut;
}

// The lane of each mark on a line, so that none covers another.
export function lanes(at, width) {
  const ends = [], found = at.map(() => 0);
  for (const n of at.map((_, i) => i).sort((a, b) => at[a] - at[b] || a - b)) {
    let lane = ends.findIndex((end) => at[n] - end >= width);
    if (lane < 0) lane = ends.length;
    ends[lane] = at[n];
    found[n] = lane;
  }
  return found;
}

export const colour = (component) => `var(--t${((component - 1) % 10) + 1})`;

export function show(id, ...children) {
  const section = byId(id);
  (section.querySelector('.slot') ?? section).replaceChildren(...children);
  section.hidden = false;
}
