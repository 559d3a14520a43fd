// What is drawn of a person: the mixture, what is their own, the ranking, the differences.

import { colour, el, name, percent, share, tasteName } from './draw.js';

export function mixture(rows) {
  return el('div', { class: 'mix', role: 'list' }, ...[...rows].sort((a, b) => b.weight - a.weight).map((row) =>
    el('div', { role: 'listitem', color: colour(row.component) },
      el('div', { class: 'name' },
        el('span', null, el('span', { class: 'dot', 'aria-hidden': 'true' }), `${tasteName(row)}${row.unsure ? ' (unsure)' : ''}`),
        el('strong', null, percent(row.weight), el('span', { class: 'hidden' }, `, between ${percent(row.low)} and ${percent(row.high)}; crowd ${percent(row.crowd)}`))),
      el('div', { class: 'likes' }, 'likes ', ...listed(row.likes)),
      el('div', { class: 'bar', 'aria-hidden': 'true' },
        el('span', { class: 'fill', css: { width: `${100 * row.weight}%` } }),
        el('span', { class: 'range', css: { left: `${100 * row.low}%`, width: `${100 * (row.high - row.low)}%` } }),
        el('span', { class: 'crowd', css: { left: `${100 * row.crowd}%` } })))));
}

export function listed(names) {
  return names.flatMap((each, n) => (n ? [', ', name(each)] : [name(each)]));
}

const titled = (row) => (row.name ? `taste ${row.component} (${row.name})` : `taste ${row.component}`);

// "Mostly taste 2, and you like pizza far more than this mixture does", and the numbers.
export function ownTaste(rows, found, yours) {
  const they = yours ? 'you' : 'they', parts = [...rows].sort((a, b) => b.weight - a.weight);
  const tastes = parts[0].weight >= 0.5 ? `Mostly ${titled(parts[0])}` : `A mixture of ${parts.slice(0, 2).map(titled).join(' and ')}`;
  if (!found.more.length && !found.less.length) return el('p', null, `${tastes}. As far as is known, there is nothing that ${they} like far more or far less than this mixture does.`);
  const clause = (items, word) => (items.length ? [`, and ${they} like `, ...listed(items.map((each) => each.item)), ` far ${word}`] : []);
  const line = (each) => {
    const up = each.wins > each.mixture;
    return el('li', null,
      el('span', { class: `arrow ${up ? 'up' : 'down'}`, 'aria-hidden': 'true' }, up ? '↑' : '↓'),
      el('span', null, name(each.item), el('small', null, ` wins against another one with ${percent(each.wins)}; by the mixture alone with ${percent(each.mixture)}`)));
  };
  return el('div', null,
    el('p', null, tastes, ...clause(found.more, 'more'), ...clause(found.less, 'less'), ' than this mixture does.'),
    el('ul', { class: 'moves' }, ...[...found.more, ...found.less].map(line)));
}

export function ranking(lines, shown = 12) {
  const last = Math.max(lines.length - 1, 1);
  const x = (place) => `${(100 * (place - 1)) / last}%`;
  const row = (line) => el('li', null,
    el('span', { class: 'place' }, String(line.place)), name(line.item),
    el('span', { class: 'track', role: 'img', 'aria-label': `place ${line.low} to ${line.high}; crowd ${line.crowd}` },
      el('span', { class: 'range', css: { left: x(line.low), width: `${(100 * (line.high - line.low)) / last}%` } }),
      el('span', { class: 'crowd', css: { left: x(line.crowd) } }),
      el('span', { class: 'at', css: { left: x(line.place) } })));
  const top = el('ol', { class: 'ranks' }, ...lines.slice(0, shown).map(row));
  if (lines.length <= shown) return top;
  const rest = el('details', null, el('summary', null, `the other ${lines.length - shown}`), el('ol', { class: 'ranks', start: shown + 1 }, ...lines.slice(shown).map(row)));
  return el('div', null, top, rest);
}

export function differences(lines) {
  if (!lines.length) return el('p', null, 'Nowhere that one could be sure of: every place of the crowd is within your range.');
  return el('ul', { class: 'moves' }, ...lines.map((line) => {
    const up = line.place < line.crowd;
    return el('li', null,
      el('span', { class: `arrow ${up ? 'up' : 'down'}`, 'aria-hidden': 'true' }, up ? '↑' : '↓'),
      el('span', null, name(line.item), el('small', null, ` ${up ? 'higher' : 'lower'}: place ${line.place} here, ${line.crowd} in the crowd`)));
  }));
}

// Before there is a model: how many of its comparisons each thing has won so far.
export function winCounts(rows, shown = 12) {
  const row = (each) => el('li', null, el('span', { class: 'ends' }, name(each.item), el('span', null, `won ${share(each.wins, each.of)}`)),
    el('span', { class: 'meter', 'aria-hidden': 'true' }, el('span', { css: { width: `${(100 * each.wins) / each.of}%` } })));
  const rest = rows.slice(shown);
  return el('div', null, el('ul', { class: 'splits' }, ...rows.slice(0, shown).map(row)),
    rest.length ? el('details', null, el('summary', null, `the other ${rest.length}`), el('ul', { class: 'splits' }, ...rest.map(row))) : null);
}

// And what others chose where the participant chose.
export function others(rows, yours) {
  const line = (each) => el('li', null, el('span', null, yours ? 'You chose ' : 'They chose ', name(each.chosen), ' over ', name(each.over),
    el('small', null, each.of === 1 ? ` ${each.same ? 'as did' : 'unlike'} the only other one` : ` as did ${each.same ? share(each.same, each.of) : `none of ${each.of}`} others`)));
  return el('ul', { class: 'moves' }, ...rows.map(line));
}
