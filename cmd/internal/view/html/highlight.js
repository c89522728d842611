'use strict';
// What belongs together is highlighted together: pointing at a setting in a chart or
// table of a section marks it in the others, by its name (the attribute data-name).
const highlight = (() => {
  let at = null, name = '';
  function paint(article, name) {
    article.classList.toggle('pointed', !!name);
    for (const e of article.querySelectorAll('[data-name]')) e.classList.toggle('hit', !!name && e.dataset.name === name);
  }
  function clear() {
    if (at) paint(at, '');
    at = null;
    name = '';
  }
  // show highlights a name in the section of an element.
  function show(element, which) {
    const article = which ? element.closest('article') : null;
    if (article === at && which === name) return;
    clear();
    if (!article) return;
    at = article;
    name = which;
    paint(at, name);
  }
  // again marks what a chart drew anew.
  const again = () => { if (at) paint(at, name); };
  document.addEventListener('keydown', e => { if (e.key === 'Escape') clear(); });
  document.addEventListener('pointerdown', e => { if (!e.target.closest('[data-name], .chart > svg')) clear(); });

  // rows makes the rows of a section's tables that begin with one of the names parts of it.
  function rows(article, names) {
    for (const row of article.querySelectorAll('section:not(.raw) tbody tr')) {
      const which = row.cells[0].textContent;
      if (!names.has(which)) continue;
      row.dataset.name = which;
      row.addEventListener('pointerenter', () => show(row, which));
      row.addEventListener('pointerleave', e => { if (e.pointerType !== 'touch') clear(); });
    }
  }
  return { show, clear, again, rows };
})();
