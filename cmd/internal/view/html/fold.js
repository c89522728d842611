'use strict';
// What is folded away opens for those who come by a link to it, and for print.
(() => {
  function reveal() {
    const id = location.hash.slice(1);
    if (!id || id.includes('=')) return; // of the view: see state.js
    const target = document.getElementById(id);
    if (!target) return;
    let closed = false;
    for (let e = target.closest('details'); e; e = e.parentElement.closest('details')) {
      closed ||= !e.open;
      e.open = true;
    }
    if (closed) target.scrollIntoView();
  }
  addEventListener('hashchange', reveal);
  reveal();

  let opened = [];
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('details:not([open])')];
    opened.forEach(d => { d.open = true; });
  });
  addEventListener('afterprint', () => {
    opened.forEach(d => { d.open = false; });
    opened = [];
  });
})();
