// Charts in SVG, small enough to read.

import { colour, el, lanes, percent, share, shortLabels, svg, tasteName } from './draw.js';

const MOST_ROWS = 24;

function widest(labels) { // as wide as `.chart text` is drawn
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(Math.max(...labels.map((label) => pen.measureText(label).width)));
}

export function legend(tastes) {
  return el('ul', { class: 'legend' }, ...tastes.map((row) => el('li', { color: colour(row.component) }, el('span', { class: 'dot', 'aria-hidden': 'true' }), tasteName(row))));
}

export function apart(model) {
  const places = model.tastes.map((taste) => new Map(taste.items.map((item, place) => [item, place])));
  const spread = (item) => { const at = places.map((p) => p.get(item)); return Math.max(...at) - Math.min(...at); };
  let rows = model.crowd.map((line) => line.item);
  if (rows.length > MOST_ROWS) {
    const kept = new Set([...rows].sort((a, b) => spread(b) - spread(a)).slice(0, MOST_ROWS));
    rows = rows.filter((item) => kept.has(item));
  }
  const narrow = matchMedia('(max-width: 40rem)').matches, [wide, letters] = narrow ? [230, 17] : [500, 25];
  const short = shortLabels(rows, letters), left = widest(short) + 14;
  const last = Math.max(model.items.length - 1, 1), x = (place) => left + (wide * place) / last;
  const lane = rows.map((item) => lanes(places.map((p) => x(p.get(item))), 15)), tops = [];
  let height = 4; // a row is as high as its lanes
  for (const each of lane) { tops.push(height); height += 10 + 16 * (Math.max(...each) + 1); }
  height += 26;
  const line = (item, n) => {
    const y = tops[n] + 14, at = places.map((p) => p.get(item));
    return svg('g', null,
      svg('text', { x: left - 12, y: y + 4, 'text-anchor': 'end' }, svg('title', null, item), short[n]),
      svg('line', { class: 'grid', x1: x(0), x2: x(last), y1: y, y2: y }),
      svg('line', { class: 'edge', x1: x(Math.min(...at)), x2: x(Math.max(...at)), y1: y, y2: y }),
      ...model.tastes.map((taste, k) => svg('g', null, svg('title', null, `${tasteName(taste)}, place ${at[k] + 1}`),
        svg('circle', { class: 'dots', cx: x(at[k]), cy: y + 16 * lane[n][k], r: 7.5, color: colour(taste.component) }),
        svg('text', { class: 'mark', x: x(at[k]), y: y + 16 * lane[n][k] + 3.5, 'text-anchor': 'middle', 'aria-hidden': 'true' }, String(taste.component)))));
  };
  const words = 'Places of things in each taste; the lists above say the same in words.';
  return el('div', null,
    svg('svg', { class: 'chart', viewBox: `0 0 ${left + wide + 14} ${height}`, role: 'img', 'aria-label': words }, ...rows.map(line),
      svg('text', { class: 'soft', x: x(0), y: height - 3 }, 'first'), svg('text', { class: 'soft', x: x(last), y: height - 3, 'text-anchor': 'end' }, 'last')),
    legend(model.tastes));
}

const named = (found) => found.components.map((component, n) => ({ component, name: found.names[n] }));

export function triangle(found) {
  const corners = [[250, 30], [60, 360], [440, 360]];
  const at = (w) => [0, 1].map((d) => w.reduce((sum, share, k) => sum + share * corners[k][d], 0));
  const dots = found.weights.map((w, m) => {
    const [cx, cy] = at(w), top = w.indexOf(Math.max(...w));
    return svg('circle', { class: 'dots', cx, cy, r: 5, color: colour(found.components[top]) }, svg('title', null, found.people[m]));
  });
  const label = (k, dx, dy, anchor) => svg('text', { x: corners[k][0] + dx, y: corners[k][1] + dy, 'text-anchor': anchor }, tasteName(named(found)[k]));
  return svg('svg', { class: 'chart', viewBox: '0 0 500 390', role: 'img', 'aria-label': 'People as mixtures of three tastes', css: { 'max-width': '34rem' } },
    svg('polygon', { class: 'edge', points: corners.map((c) => c.join(',')).join(' ') }), ...dots,
    label(0, 0, -12, 'middle'), label(1, 0, 24, 'middle'), label(2, 0, 24, 'middle'));
}

export function stacks(found) {
  const order = found.weights.map((w, m) => [w.indexOf(Math.max(...w)), -Math.max(...w), m]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const column = ([, , m]) => el('span', { title: found.people[m] }, ...found.weights[m].map((share, k) => el('i', { css: { height: `${100 * share}%` }, color: colour(found.components[k]) })));
  return el('div', null, el('div', { class: 'stacks', role: 'img', 'aria-label': 'People as mixtures of tastes' }, ...order.map(column)), legend(named(found)));
}

export function growth(fits) {
  const cell = (text) => el('td', { class: 'n' }, text);
  const head = ['model', 'answers', 'people', 'tastes', 'predicted'].map((word, n) => el('th', { scope: 'col', class: n ? 'n' : '' }, word));
  const row = (fit) => el('tr', null, el('th', { scope: 'row' }, String(fit.id)), cell(fit.votes.toLocaleString('en')), cell(String(fit.people)), cell(String(fit.components)),
    cell(fit.predicted === null ? '–' : share(Math.round(fit.predicted * fit.predicted_of), fit.predicted_of)));
  const table = el('div', { class: 'scroll' }, el('table', null, el('thead', null, el('tr', null, ...head)), el('tbody', null, ...[...fits].reverse().slice(0, 12).map(row))));
  const told = fits.filter((fit) => fit.predicted !== null);
  if (told.length < 2) return table;
  const most = Math.max(...told.map((fit) => fit.votes)), x = (fit) => 50 + (640 * fit.votes) / most, y = (share) => 150 - 240 * (Math.max(share, 0.4) - 0.45);
  return el('div', null, svg('svg', { class: 'chart', viewBox: '0 0 710 190', role: 'img', 'aria-label': 'How many answers were predicted, as answers came in' },
    ...[0.5, 0.75, 1].map((share) => svg('g', null, svg('line', { class: 'grid', x1: 50, x2: 690, y1: y(share), y2: y(share) }), svg('text', { class: 'soft', x: 42, y: y(share) + 4, 'text-anchor': 'end' }, percent(share)))),
    svg('polyline', { class: 'path', points: told.map((fit) => `${x(fit)},${y(fit.predicted)}`).join(' ') }),
    ...told.map((fit) => svg('circle', { class: 'point', cx: x(fit), cy: y(fit.predicted), r: 4 }, svg('title', null, `${fit.votes} answers: ${percent(fit.predicted)}`))),
    svg('text', { class: 'soft', x: 690, y: 184, 'text-anchor': 'end' }, `${most.toLocaleString('en')} answers`)), table);
}
