// Try someone: choices written down or a known person's, into a mixture, a ranking, and the chance of a choice not made.

import { get, post } from './api.js';
import { byId, el, percent } from './draw.js';
import { mixture, ranking } from './views.js';

let choices = [];

export function parse(text) {
  const found = [];
  text.split('\n').map((line) => line.trim()).filter(Boolean).forEach((line, n) => {
    const [winner, loser, ...more] = line.split('>').map((part) => part.trim());
    if (!winner || !loser || more.length) throw new Error(`Line ${n + 1} is not of the form “this > that”.`);
    found.push({ winner, loser });
  });
  return found;
}

async function shown() {
  byId('wrong').textContent = '';
  try {
    choices = parse(byId('choices').value);
    const [weights, ranks] = await Promise.all([post('weights', { choices }), post('rank', { choices })]);
    byId('their-mixture').replaceChildren(mixture(weights.mixture));
    byId('their-ranking').replaceChildren(ranking(ranks.ranking));
    byId('shown').hidden = false;
    await predict();
  } catch (error) { byId('wrong').textContent = error.message; }
}

async function predict() {
  const one = byId('one').value, two = byId('two').value, out = byId('chance');
  if (one === two) { out.textContent = ''; return; }
  const { probabilities: [chance] } = await post('predict', { choices, pairs: [[one, two]] });
  out.textContent = `${percent(chance)} likely`;
}

async function pick() {
  const person = byId('pick').value;
  if (!person) return;
  const known = await get(`crowd/choices?person=${encodeURIComponent(person)}`);
  byId('choices').value = known.choices.flatMap((choice) => Array(Math.max(1, Math.round(choice.times))).fill(`${choice.winner} > ${choice.loser}`)).join('\n');
  await shown();
}

let prepared = false;

export async function prepare(model) {
  byId('try').hidden = false;
  for (const [id, n] of [['one', 0], ['two', 1]]) {
    byId(id).replaceChildren(...model.items.map((item) => el('option', { value: item }, item)));
    byId(id).selectedIndex = Math.min(n, model.items.length - 1);
  }
  byId('choices').placeholder = model.tastes[0].items.slice(0, 2).join(' > ');
  if (prepared) return;
  prepared = true;
  byId('someone').addEventListener('submit', (event) => { event.preventDefault(); shown(); });
  byId('predict').addEventListener('submit', (event) => event.preventDefault());
  for (const id of ['one', 'two']) byId(id).addEventListener('change', predict);
  const crowd = Number(byId('explore').dataset.people) ? await get('crowd') : { people: [] };
  byId('pick-field').hidden = !crowd.people.length;
  byId('pick').append(...crowd.people.map((person) => el('option', { value: person }, person)));
  byId('pick').addEventListener('change', pick);
}
