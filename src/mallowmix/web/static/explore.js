// Explore: the tastes, where they part, how people mix them, and what they make of someone's choices.

import { get } from './api.js';
import { byId, colour, el, name, percent, show } from './draw.js';
import { apart, growth, stacks, triangle } from './charts.js';
import { listen } from './live.js';
import { prepare } from './someone.js';

function taste(row) {
  const line = row.telling && el('p', { class: 'telling' }, 'People who put ', name(row.telling.winner), ' over ', name(row.telling.loser));
  const top = row.items.slice(0, 8), rest = row.items.slice(8);
  const list = (names, start) => el('ol', { start }, ...names.map((each) => el('li', null, name(each))));
  return el('article', { class: 'card taste', color: colour(row.component) },
    el('span', { class: 'share' }, percent(row.share)), el('h2', null, `Taste ${row.component}`),
    row.unstable && el('p', { class: 'soft' }, 'Unstable: other models that predict as well have it differently.'), line, list(top, 1),
    rest.length ? el('details', null, el('summary', null, `${rest.length} more`), list(rest, 9)) : null);
}

function split(pair) {
  return el('li', null,
    el('div', { class: 'ends' }, el('span', null, name(pair.item), ` ${percent(pair.win_rate)}`), el('span', null, `${percent(1 - pair.win_rate)} `, name(pair.other))),
    el('div', { class: 'two', 'aria-hidden': 'true' }, el('span', { css: { flex: String(pair.win_rate) } }), el('span', { css: { flex: String(1 - pair.win_rate) } })));
}

async function people(tastes) {
  if (!Number(byId('explore').dataset.people)) return;
  const found = await get('crowd');
  if (!found.people.length) return;
  byId('people-note').textContent = `${found.people.length} of ${found.total} people` + (found.components.length === 3 ? ', each a dot: a corner is one taste alone.' : ', each a thin column.');
  show('people', found.components.length === 3 ? triangle(found) : stacks(found));
}

async function draw() {
  const model = await get('model');
  const words = model.version === null ? 'No model yet: the tastes are found when enough people have answered.'
    : `${model.tastes.length === 1 ? 'One taste' : `${model.tastes.length} tastes`}, found in ${model.votes.toLocaleString('en')} answers about ${model.items.length} things.`;
  byId('summary').textContent = words;
  if (model.growth.length) show('growth', growth(model.growth));
  if (model.version === null) return;
  show('tastes', ...model.tastes.map(taste));
  if (model.tastes.length > 1) {
    show('apart', apart(model));
    show('pairs', el('ul', { class: 'splits' }, ...model.pairs.filter((pair) => pair.spread > 0.02).map(split)));
  }
  prepare(model);
  await people(model.tastes);
}

draw().catch((error) => { byId('summary').textContent = error.message; });
listen({ model: () => draw(), votes: () => {} });
