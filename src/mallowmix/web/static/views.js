// What is drawn of a person on more than one page: the mixture, the ranking, the differences.

import { colour, el, name, percent } from './draw.js';

export function mixture(rows) {
  return el('div', { class: 'mix', role: 'list' }, ...[...rows].sort((a, b) => b.weight - a.weight).map((row) =>
    el('div', { role: 'listitem', color: colour(row.component) },
      el('div', { class: 'name' },
        el('span', null, el('span', { class: 'dot', 'aria-hidden': 'true' }), `Taste ${row.component}`),
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
