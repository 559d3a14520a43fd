// A participant's result: their own, or one by its link.

import { call, get, post } from './api.js';
import { byId, el, percent, show } from './draw.js';
import { differences, mixture, others, ownTaste, ranking, winCounts } from './views.js';

const root = byId('result'), own = root.dataset.own === 'yes', link = root.dataset.link;

function tell(text) { byId('summary').textContent = text; }

function draw(result) {
  const answers = `${result.answered} answer${result.answered === 1 ? '' : 's'}`;
  if (!result.fitted) {
    tell(`Thank you for ${answers}. The tastes are found when enough people have answered: come back to this page then. Until then, this is what people chose so far.`);
    if (result.others.length) show('others', others(result.others, own));
    if (result.so_far.length) show('so-far', winCounts(result.so_far));
    return;
  }
  const agree = percent(result.agreement);
  tell(`From ${answers}: ${own ? 'you order' : 'they order'} ${agree} of all pairs as the crowd does.`);
  show('mixture', mixture(result.mixture));
  if (result.own) show('own', ownTaste(result.mixture, result.own, own));
  show('differences', differences(result.differences));
  show('ranking', ranking(result.ranking));
}

async function start() {
  if (!own) {
    try { draw(await get(`result?link=${encodeURIComponent(link)}`)); } catch (error) { tell(error.status === 422 ? 'There is no result under this link.' : error.message); }
    return;
  }
  try {
    const me = await get('me');
    if (!me.person) {
      tell('There are no answers of yours yet. ');
      byId('summary').append(el('a', { href: '/survey' }, 'Begin here'), '.');
      return;
    }
    draw(await get('me/result'));
    byId('link').value = `${location.origin}/r/${me.link}`;
    byId('keep').hidden = false;
  } catch (error) { tell(error.message); }
}

async function copy() {
  byId('link').select();
  try { await navigator.clipboard.writeText(byId('link').value); } catch { document.execCommand('copy'); }
  byId('copy').textContent = 'Copied';
}

async function forget() {
  try {
    await call('DELETE', 'me');
    localStorage.removeItem('mallowmix.waiting');
    location.assign('/');
  } catch (error) { tell(error.message); }
}

async function propose(event) {
  event.preventDefault();
  try {
    await get('me');
    await post('items', { name: byId('name').value });
    byId('proposed').textContent = 'Thank you. It is asked about once it has been let in.';
    byId('name').value = '';
  } catch (error) { byId('proposed').textContent = error.message; }
}

if (own) {
  byId('copy').addEventListener('click', copy);
  byId('delete').addEventListener('click', () => { byId('sure').hidden = false; byId('not').focus(); });
  byId('not').addEventListener('click', () => { byId('sure').hidden = true; byId('delete').focus(); });
  byId('really').addEventListener('click', forget);
  byId('propose')?.addEventListener('submit', propose);
}
start();
