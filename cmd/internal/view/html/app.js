
(() => {
  const make = (name, attrs, ...children) => {
    const e = document.createElement(name);
    for (const k in attrs) k in e && typeof attrs[k] !== 'string' ? e[k] = attrs[k] : e.setAttribute(k, attrs[k]);
    e.append(...children);
    return e;
  };

  // Charts, from the top: what is seen first need not wait for the rest. What has a name
  // that is also in others is highlighted with them.
  const waiting = [...document.querySelectorAll('script.chart-data')], named = new Map();
  function draw() {
    for (const until = performance.now() + 50; waiting.length && performance.now() < until;) {
      const data = waiting.shift(), chart = JSON.parse(data.textContent), article = data.closest('article');
      folio.chart(document.getElementById(data.dataset.for), chart);
      if (!chart.link) continue;
      if (!named.has(article)) named.set(article, new Set());
      for (const s of chart.series) for (const p of s.p || []) if (p.n) named.get(article).add(p.n);
      for (const a of chart.runs?.arms || []) named.get(article).add(a.name);
    }
    if (waiting.length) { setTimeout(draw); return; }
    named.forEach((names, article) => highlight.rows(article, names));
    document.documentElement.dataset.ready = 'yes';
  }

  // Lines to paste.
  for (const pre of document.querySelectorAll('pre.line')) {
    const button = make('button', { type: 'button', class: 'copy', onclick: async () => {
      if (await folio.copy(pre.textContent)) {
        button.textContent = 'Copied';
        setTimeout(() => { button.textContent = 'Copy'; }, 1500);
      }
    } }, 'Copy');
    pre.after(button);
  }

  // Tables that sort.
  const key = cell => {
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent.trim();
    return text === '' || text === '-' ? NaN : text;
  };
  function order(a, b) {
    const na = Number.isNaN(a), nb = Number.isNaN(b);
    if (na || nb) return na - nb; // what was not measured comes last
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    return String(a).localeCompare(String(b), 'en', { numeric: true });
  }
  function sortable(table, n) {
    const heads = [...table.tHead.rows[0].cells], id = 'table' + n;
    const sort = (i, down) => {
      heads.forEach(h => h.removeAttribute('aria-sort'));
      heads[i].setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const rows = [...table.tBodies[0].rows].map(r => [key(r.cells[i]), r]);
      rows.sort(([a], [b]) => Number.isNaN(a) || Number.isNaN(b) ? order(a, b) : down ? order(b, a) : order(a, b));
      table.tBodies[0].append(...rows.map(([, r]) => r));
      linked.set(id, 'sort', `${i}${down ? 'down' : 'up'}`);
    };
    heads.forEach((th, i) => {
      if (!th.textContent.trim()) return;
      const text = th.textContent;
      th.append(make('button', { type: 'button', class: 'sort', 'aria-label': `sort by ${text}`, onclick: () => {
        const down = th.getAttribute('aria-sort') === 'ascending';
        sort(i, down);
        folio.say(`sorted by ${text}, ${down ? 'descending' : 'ascending'}`);
      } }));
    });
    const restore = () => {
      const [, i, how] = /^(\d+)(up|down)$/.exec(linked.get(id, 'sort') || '') || [];
      if (heads[i]) sort(+i, how === 'down');
    };
    restore();
    linked.watch(restore);
  }

  // Tables that fit: one that is wider than its place becomes a list of its rows on a
  // phone, and scrolls behind its first column elsewhere.
  const ROLES = [['', 'table'], ['tbody', 'rowgroup'], ['tr', 'row'], ['thead th', 'columnheader'], ['tbody th', 'rowheader'], ['td', 'cell']];
  function fit(box) {
    const table = box.querySelector('table');
    if (!table || !box.clientWidth) return;
    table.classList.remove('cards');
    box.classList.remove('wide');
    if (box.scrollWidth <= box.clientWidth + 1) return;
    if (innerWidth > 520) return void box.classList.add('wide');
    table.classList.add('cards');
    if (table.getAttribute('role')) return;
    const heads = [...table.tHead.rows[0].cells].map(th => th.textContent.trim());
    for (const [of, role] of ROLES) (of ? [...table.querySelectorAll(of)] : [table]).forEach(e => e.setAttribute('role', role));
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((c, i) => {
        c.dataset.head = heads[i] || '';
        c.classList.toggle('empty', !c.textContent.trim());
      });
    }
  }
  const boxes = [...document.querySelectorAll('section:not(.raw) .scroll')];
  const widths = new Map();
  const watch = new ResizeObserver(entries => entries.forEach(({ target }) => {
    if (widths.get(target) === target.clientWidth) return; // only its height is another
    widths.set(target, target.clientWidth);
    fit(target);
  }));
  boxes.forEach(fit);
  document.querySelectorAll('table.sortable').forEach(sortable);
  boxes.forEach(b => watch.observe(b));

  // Raw samples: parsed when they are asked for, a page at a time.
  const PAGE = 100;
  // samplesOf finds all lists of samples in a result, with where they are.
  function samplesOf(v, path, out) {
    if (Array.isArray(v)) v.forEach(e => samplesOf(e, path, out));
    else if (v && typeof v === 'object') {
      const own = typeof v.name === 'string' && Array.isArray(v.samples ?? v.arms) ? [...path, v.name] : path;
      for (const k in v) {
        if (k === 'samples' && Array.isArray(v[k])) v[k].forEach(s => out.push([own.join(': '), s]));
        else samplesOf(v[k], own, out);
      }
    }
    return out;
  }
  const flat = s => {
    const row = {};
    for (const k in s) {
      if (k === 'metrics') Object.assign(row, s[k]);
      else if (s[k] === null || typeof s[k] !== 'object') row[k] = s[k];
    }
    return row;
  };
  function browse(host, text) {
    const rows = samplesOf(JSON.parse(text), [], []).map(([arm, s]) => ({ of: arm, ...flat(s) }));
    const heads = [...new Set(rows.flatMap(Object.keys))];
    const box = make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Raw samples of ' + host.closest('.raw-tools').dataset.name });
    const where = make('span', {});
    let from = 0;
    const show = () => {
      const table = make('table', {}), tr = table.createTHead().insertRow(), body = table.createTBody();
      for (const h of heads) tr.append(make('th', { scope: 'col' }, h));
      for (const r of rows.slice(from, from + PAGE)) {
        const line = body.insertRow();
        for (const h of heads) {
          const td = line.insertCell();
          td.textContent = r[h] ?? '-';
          if (typeof r[h] === 'number') td.className = 'num';
        }
      }
      box.replaceChildren(table);
      where.textContent = ` ${Math.min(from + 1, rows.length)} to ${Math.min(from + PAGE, rows.length)} of ${rows.length} `;
      back.disabled = from === 0;
      on.disabled = from + PAGE >= rows.length;
    };
    const back = make('button', { type: 'button', onclick: () => { from -= PAGE; show(); } }, 'Back');
    const on = make('button', { type: 'button', onclick: () => { from += PAGE; show(); } }, 'Next');
    show();
    host.append(make('p', { class: 'pager' }, back, where, on), box, csv.button(() => box.querySelector('table'), 'raw samples'));
  }
  // unpack returns the text of a result file: gzip, base64.
  async function unpack(element) {
    const bytes = Uint8Array.from(atob(element.textContent.trim()), c => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  }
  for (const tools of document.querySelectorAll('.raw-tools')) {
    const data = document.getElementById(tools.dataset.for);
    const list = make('div', {});
    const show = make('button', { type: 'button', class: 'show', onclick: async () => {
      if (list.childNodes.length) list.replaceChildren(); else browse(list, await unpack(data));
      show.textContent = list.childNodes.length ? 'Hide samples' : 'Show samples';
    } }, 'Show samples');
    const save = make('button', { type: 'button', class: 'download', onclick: async () => {
      const url = URL.createObjectURL(new Blob([await unpack(data)], { type: 'application/json' }));
      const a = make('a', { href: url, download: tools.dataset.name });
      document.body.append(a);
      a.click();
      a.remove();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    } }, 'Download JSON');
    tools.append(save);
    if (tools.dataset.samples !== '0') tools.append(show, list);
  }
  draw();
  addEventListener('beforeprint', () => { while (waiting.length) draw(); });
})();
