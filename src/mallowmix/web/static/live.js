// What happens on the server while one looks: the progress of a fit, a new model.

import { byId } from './draw.js';

export function listen(on) {
  const source = new EventSource('/api/v1/events');
  source.addEventListener('fit', (event) => progress(JSON.parse(event.data)));
  for (const [kind, then] of Object.entries(on)) source.addEventListener(kind, (event) => then(JSON.parse(event.data)));
  addEventListener('pagehide', () => source.close());
}

function progress(fit) {
  const box = byId('fitting');
  if (!box) return;
  box.hidden = fit.state !== 'running';
  if (fit.state !== 'running') return;
  box.firstElementChild.textContent = `The tastes are being learnt again: ${fit.step} …`;
  box.querySelector('.progress span').style.width = `${fit.total ? (100 * fit.done) / fit.total : 0}%`;
}
