'use strict';
// Tables as they are shown, for spreadsheets: comma-separated values as RFC 4180 has them.
const csv = (() => {
  const field = text => /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const line = row => [...row.cells].map(c => field(c.textContent.trim())).join(',') + '\r\n';
  const of = table => [...table.tHead.rows, ...table.tBodies[0].rows].map(line).join('');
  // button returns one that copies the table that find returns.
  function button(find, caption) {
    const e = document.createElement('button');
    e.type = 'button';
    e.className = 'copy csv';
    e.textContent = 'Copy as CSV';
    if (caption) e.setAttribute('aria-label', 'Copy as CSV: ' + caption);
    e.onclick = async () => {
      const table = find(), rows = table.tBodies[0].rows.length, columns = table.tHead.rows[0].cells.length;
      const count = (n, of) => `${n} ${of}${n === 1 ? '' : 's'}`;
      await folio.copy(of(table), `${count(rows, 'row')} of ${count(columns, 'column')} as CSV`);
    };
    return e;
  }
  for (const box of document.querySelectorAll('.scroll')) {
    const table = box.querySelector(':scope > table');
    if (table) box.after(button(() => table, table.caption?.textContent));
  }
  return { button };
})();
