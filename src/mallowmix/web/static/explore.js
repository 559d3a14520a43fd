// Explore: the tastes, where they part, how people mix them, and what they make of someone's choices.

import { get } from './api.js';
import { byId, colour, el, lanes, name, percent, show, tasteName } from './draw.js';
import { apart, growth, legend, stacks, triangle } from './charts.js';
import { listen } from './live.js';
import { prepare } from './someone.js';
import { listed, winCounts } from './views.js';

function taste(row) {
  const doubt = row.unsure.length ? el('p', { class: 'note' }, `Unsure: ${row.unsure.join('; ')}.`) : null;
  const apartFrom = row.differing.length ? el('p', { class: 'telling' }, 'Puts ', ...listed(row.differing), ' most unlike the others') : null;
  const line = !row.unsure.length && row.telling ? el('p', { class: 'telling' }, 'People who put ', name(row.telling.winner), ' over ', name(row.telling.loser)) : apartFrom;
  const top = row.items.slice(0, 8), rest = row.items.slice(8);
  const list = (names, start) => el('ol', { start }, ...names.map((each) => el('li', null, name(each))));
  return el('article', { class: 'card taste', color: colour(row.component) },
    el('span', { class: 'share' }, percent(row.share)), el('h2', null, tasteName(row)), line, doubt, list(top, 1),
    rest.length ? el('details', null, el('summary', null, `${rest.length} more`), list(rest, 9)) : null);
}

function split(pair, tastes) {
  const at = pair.tastes.map((first) => 100 * (1 - first)), lane = lanes(at, 5);
  const mark = (row, n) => el('span', { class: 'mark', color: colour(row.component), title: `${tasteName(row)}, ${percent(pair.tastes[n])} for ${pair.item}`, css: { left: `${at[n]}%`, top: `${1.2 * lane[n]}rem` } }, String(row.component));
  const words = tastes.map((row, n) => `${tasteName(row)}, ${percent(pair.tastes[n])}`).join('; ');
  return el('li', null,
    el('div', { class: 'ends' }, el('span', null, name(pair.item)), el('span', null, name(pair.other))),
    el('div', { class: 'rail', role: 'img', 'aria-label': `How often each taste chooses ${pair.item}: ${words}`, css: { height: `${1.2 * (Math.max(...lane) + 1)}rem` } },
      el('span', { class: 'crowd', css: { left: `${100 * (1 - pair.win_rate)}%` } }), ...tastes.map(mark)));
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
    : `${model.tastes.length === 1 ? 'One taste' : `${model.tastes.length} tastes`}, ${model.votes ? `found in ${model.votes.toLocaleString('en')} answers about` : 'of'} ${model.items.length} things.`;
  byId('summary').textContent = words;
  if (model.growth.length) show('growth', growth(model.growth));
  if (model.version === null) {
    if (model.so_far.length) show('so-far', winCounts(model.so_far));
    return;
  }
  byId('so-far').hidden = true;
  show('tastes', ...model.tastes.map(taste));
  if (model.tastes.length > 1) {
    show('apart', apart(model));
    show('pairs', el('ul', { class: 'splits' }, ...model.pairs.filter((pair) => pair.spread > 0.02).map((pair) => split(pair, model.tastes))), legend(model.tastes));
  }
  prepare(model);
  await people(model.tastes);
}

draw().catch((error) => { byId('summary').textContent = error.message; });
listen({ model: () => draw(), votes: () => {} });
