// Draw the figures; for paper, at the width of the paper and with everything unfolded.
(() => {
  'use strict';
  const figures = JSON.parse(document.getElementById('figures').textContent);
  const slots = [...document.querySelectorAll('.figure')].filter((slot) => figures[slot.dataset.figure]);
  const config = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false, showTips: false };
  const drawn = slots.map((slot) => {
    const figure = figures[slot.dataset.figure];
    return Plotly.newPlot(slot, figure.data, { ...figure.layout, autosize: true }, config);
  });
  Promise.all(drawn).then(() => { document.documentElement.dataset.drawn = slots.length; });

  const PAPER = 680, COLUMN = 325, GAP = 30; // CSS pixels; as in report.css
  const folded = [];
  let onPaper = false;
  const toPaper = () => {
    if (onPaper) return;
    onPaper = true;
    folded.push(...document.querySelectorAll('details:not(.long):not([open])'));
    folded.forEach((part) => { part.open = true; });
    slots.forEach((slot) => {
      const high = figures[slot.dataset.figure].layout.height;
      Plotly.relayout(slot, slot.closest('.two') ? { width: COLUMN, height: Math.min(high, COLUMN) } : { width: PAPER });
    });
  };
  const toScreen = () => {
    if (!onPaper) return;
    onPaper = false;
    folded.splice(0).forEach((part) => { part.open = false; });
    slots.forEach((slot) => Plotly.relayout(slot, { width: null, height: figures[slot.dataset.figure].layout.height, autosize: true }));
  };
  addEventListener('beforeprint', toPaper);
  addEventListener('afterprint', toScreen);
  matchMedia('print').addEventListener('change', (now) => (now.matches ? toPaper : toScreen)());
})();
