// The survey: one pair at a time. An answer is kept in this browser until the server says that it is stored, and is sent with the
// same key every time, so that neither a reload nor a lost connection loses or doubles it.

import { get, newKey, post, Trouble } from './api.js';
import { byId, el, name } from './draw.js';

const WAITING = 'mallowmix.waiting';
const more = new URLSearchParams(location.search).has('more');
const survey = byId('survey'), first = byId('first'), second = byId('second'), skip = byId('skip'), notice = byId('notice');
let person = null, question = null, busy = true, timer = 0, tries = 0;

function waiting() {
  try {
    const kept = JSON.parse(localStorage.getItem(WAITING) ?? '[]');
    return Array.isArray(kept) ? kept : [];
  } catch { return []; }
}

let unkept = null; // where nothing can be kept (private windows of some browsers), memory must do
const read = () => unkept ?? waiting();
function write(votes) {
  try { localStorage.setItem(WAITING, JSON.stringify(votes)); } catch { unkept = votes; }
}

function setBusy(now) {
  busy = now;
  survey.setAttribute('aria-busy', String(now));
  for (const button of [first, second, skip]) button.setAttribute('aria-disabled', String(now));
}

async function begin() {
  const [invitation] = location.hash.match(/(?<=^#)[\w-]{24}$/) ?? []; // the end of an invitation link; browsers do not send it along by themselves
  person = (await get('me')).person ?? (await post('people', invitation ? { invitation } : {})).person;
}

async function send() {
  for (let votes = read(); votes.length; votes = read()) {
    const { key, first, second, choice, person: whose } = votes[0];
    if (whose === person) {
      try { await post('votes', { key, first, second, choice }); } catch (error) {
        if (error.passing || error.status === 403) throw error; // 4xx otherwise: answered before, or no longer asked
        if (error.status === 401) person = null;
      }
    }
    write(read().filter((vote) => vote.key !== key));
  }
}

function fill(button, item) {
  const parts = [name(item.name)];
  if (item.picture) parts.unshift(el('img', { src: item.picture, alt: '', decoding: 'async' }));
  if (item.description) parts.push(el('small', null, item.description));
  button.replaceChildren(...parts);
}

function ask(next) {
  question = next;
  const bar = byId('progress');
  bar.setAttribute('aria-valuenow', String(Math.round(100 * next.progress)));
  bar.firstElementChild.style.width = `${100 * next.progress}%`;
  byId('count').textContent = more ? `Question ${next.number}` : `Question ${next.number} of at most ${next.most}`;
  fill(first, next.first);
  fill(second, next.second);
  for (const button of [first, second, skip]) button.classList.remove('taken');
  byId('said').textContent = `Question ${next.number}: ${next.first.name}, or ${next.second.name}?`;
  setBusy(false);
}

async function goOn() {
  clearTimeout(timer);
  try {
    if (!person) await begin();
    await send();
    if (!person) await begin();
    const next = await get(`next-pair${more ? '?more=true' : ''}`);
    notice.hidden = true;
    tries = 0;
    if (next.done) location.assign('/me');
    else ask(next);
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    trouble(error);
  }
}

function trouble(error) {
  if (error.status === 403) person = null; // the session's token is out of date: ask for it again
  const kept = read().length ? ' Your answer is kept and will be sent.' : '';
  notice.firstElementChild.textContent = (error.status === 0 ? 'There is no connection.' : error.message) + kept;
  notice.hidden = false;
  tries += 1;
  timer = setTimeout(goOn, Math.min(15000, 500 * 2 ** tries));
}

function choose(choice, button) {
  if (busy || !question) return;
  setBusy(true);
  button.classList.add('taken');
  write([...read(), { key: newKey(), first: question.first.id, second: question.second.id, choice, person }]);
  question = null;
  goOn();
}

first.addEventListener('click', () => choose('first', first));
second.addEventListener('click', () => choose('second', second));
skip.addEventListener('click', () => choose('skip', skip));
byId('retry').addEventListener('click', goOn);
addEventListener('online', goOn);
addEventListener('keydown', (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = { ArrowLeft: ['first', first], 1: ['first', first], ArrowRight: ['second', second], 2: ['second', second], ArrowDown: ['skip', skip], 0: ['skip', skip] }[event.key];
  if (key) {
    event.preventDefault();
    choose(...key);
  }
});
goOn();
