
// The charts of a page, in SVG: it prints, takes its colors from the style
// sheet, so that a change of theme needs no redraw, and can be read by a test.
// The data is in elements of class chart-data; package html says what it means
// (page.go). Nothing here makes HTML of a text.
const folio = (() => {
  const SHAPES = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar, d3.symbolWye];
  const UNITS = {
    bytes: (v, n) => unit(v, n, [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]),
    seconds: (v, n) => unit(v, n, [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']]),
    count: (v, n) => unit(v, n, [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']]),
    percent: (v, n) => short(v * 100, n) + '%',
  };
  const short = (v, n) => String(+v.toPrecision(n));
  function unit(v, n, units) {
    if (v === 0) return '0';
    const [size, name] = units.find(([s]) => Math.abs(v) >= s * 0.9995) || units[units.length - 1];
    return short(v / size, n) + name;
  }
  // format returns how values of an axis are printed, with so many digits.
  const format = (axis, digits = 3) => v => (UNITS[axis.format] || short)(v, digits);

  // scale returns a scale of d3 over the values, with its ticks.
  function scale(axis, values, range, count) {
    let lo = d3.min(values), hi = d3.max(values);
    if (lo === undefined) { lo = 0; hi = 1; }
    const log = (axis.scale === 'log' || axis.scale === 'log2') && lo > 0;
    let s, ticks;
    if (log) {
      const pad = Math.max(Math.log(hi / lo) * 0.06, Math.log(1.05));
      lo *= Math.exp(-pad); hi *= Math.exp(pad);
      s = d3.scaleLog().domain([lo, hi]).range(range);
      ticks = logTicks(axis, lo, hi, count);
    } else {
      if (axis.zero) lo = Math.min(0, lo);
      if (lo === hi) { hi = lo + (Math.abs(lo) || 1); }
      const pad = (hi - lo) * 0.06;
      if (!(axis.zero && lo === 0)) lo -= pad;
      s = d3.scaleLinear().domain([lo, hi + pad]).range(range);
      ticks = evenTicks(axis, lo, hi + pad, count);
    }
    return { s, ticks, log };
  }
  function evenTicks(axis, lo, hi, count) {
    if (axis.format !== 'bytes') return d3.ticks(lo, hi, count);
    const step = 2 ** Math.ceil(Math.log2((hi - lo) / count)); // sizes are read in powers of two
    return d3.range(Math.ceil(lo / step), Math.floor(hi / step) + 1).map(i => i * step);
  }
  function logTicks(axis, lo, hi, count) {
    if (hi / lo < 6) return evenTicks(axis, lo, hi, count).filter(v => v > 0);
    const base = axis.scale === 'log2' ? 2 : 10;
    const first = Math.ceil(Math.log(lo) / Math.log(base) - 1e-9), last = Math.floor(Math.log(hi) / Math.log(base) + 1e-9);
    let out = [];
    for (const steps of base === 10 ? [[1, 2, 5], [1, 3], [1]] : [[1]]) {
      out = [];
      for (let e = first - 1; e <= last; e++) for (const m of steps) out.push(m * base ** e);
      out = out.filter(v => v >= lo && v <= hi);
      if (out.length <= count + 1) break;
    }
    const step = Math.ceil(out.length / Math.max(count, 2));
    return out.filter((_, i) => i % step === 0);
  }

  const svg = (parent, name, attrs, text) => {
    const e = parent.append(name);
    for (const k in attrs) if (attrs[k] !== undefined) e.attr(k, attrs[k]);
    if (text !== undefined) e.text(text);
    return e;
  };
  // textWidth is how wide a text of a chart is, in pixels, or a little less.
  const canvas = document.createElement('canvas').getContext('2d');
  const FONTS = { named: '600 12.5px system-ui, sans-serif', mono: '12px ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace' };
  function textWidth(text, cls) {
    canvas.font = FONTS[cls] || '12px system-ui, sans-serif';
    return canvas.measureText(text).width * 1.03 + 1;
  }
  // cut cuts a text in its middle until it is no wider than room.
  function cut(text, room, cls) {
    if (textWidth(text, cls) <= room) return text;
    let n = text.length;
    const at = k => text.slice(0, Math.ceil(k / 2)) + '…' + text.slice(text.length - Math.floor(k / 2));
    while (n > 1 && textWidth(at(n), cls) > room) n--;
    return at(n);
  }
  // words writes a text that keeps within room; the whole of it is its title.
  function words(parent, cls, attrs, text, room) {
    const shown = cut(text, room, cls), t = svg(parent, 'text', { class: cls, ...attrs }, shown);
    if (shown !== text) t.append('title').text(text);
    return t;
  }
  const mark = (shape, size) => d3.symbol(SHAPES[shape % SHAPES.length], size)();

  // legend lists the series; a click hides one.
  function legend(host, c, state, redraw) {
    if (c.series.length < 2) return;
    const ul = d3.select(host).append('ul').attr('class', 'legend'), boxes = c.kind === 'bars' || c.kind === 'stack';
    c.series.forEach((s, i) => {
      const b = ul.append('li').append('button').attr('type', 'button').attr('aria-pressed', String(!state.hidden.has(i)))
        .attr('title', 'show or hide').on('click', () => {
          state.hidden.has(i) ? state.hidden.delete(i) : state.hidden.add(i);
          redraw();
        });
      if (c.link && c.runs) b.on('pointerenter focus', () => highlight.show(host, s.name)).on('pointerleave blur', () => highlight.clear());
      const g = b.append('svg').attr('width', 22).attr('height', 14).attr('aria-hidden', 'true');
      if (s.line) svg(g, 'path', { d: 'M1,7H21', class: 'line c' + s.color + (s.dash ? ' dash' : '') });
      if (!s.bare) svg(g, 'path', { d: boxes ? 'M4,2h14v10h-14z' : mark(s.shape, 50), transform: boxes ? undefined : 'translate(11,7)', class: 'mark c' + s.color + (s.ref ? ' ref' : '') + (s.light ? ' light' + s.light : '') });
      b.append('span').text(s.name);
    });
  }

  // chooser lets pointer and keys choose one of the points, in the order given;
  // each has x, y (pixels), and of: the point, and series. Keys go through stops, if given:
  // some of the indices.
  function chooser(host, root, c, spots, ring, stops = d3.range(spots.length)) {
    let at = -1;
    const show = (i, speak) => {
      at = i;
      const p = spots[i];
      ring.attr('d', p.outline || mark(0, 260)).attr('transform', p.outline ? null : `translate(${p.x},${p.y})`).attr('display', null);
      tip(host, root, p, c);
      highlight.show(host, c.link ? p.name || p.of.n : '');
      if (speak) say([p.series.name, p.of.n, ...(p.of.tip || []).map(t => t.join(' '))].filter(Boolean).join(', '));
    };
    const hide = () => { at = -1; ring.attr('display', 'none'); hideTip(); highlight.clear(); };
    const nearest = e => {
      const [x, y] = d3.pointer(e, root.node());
      let best = -1, d = 40 * 40;
      spots.forEach((p, i) => {
        const q = p.hit ? (p.hit(x, y) ? 0 : Infinity) : (p.x - x) ** 2 + (p.y - y) ** 2;
        if (q < d) { d = q; best = i; }
      });
      return best;
    };
    const copyOf = i => { if (i >= 0 && spots[i].of.c) copy(spots[i].of.c); };
    // A finger cannot hover: its first tap shows a point until it taps elsewhere, the
    // next one on the same point copies.
    let touch = false, before = -1;
    const point = e => { const i = nearest(e); i >= 0 ? show(i) : hide(); };
    root.on('pointerdown', e => { touch = e.pointerType === 'touch'; before = at; point(e); })
      .on('pointermove', e => { if (e.pointerType !== 'touch') point(e); })
      .on('pointerleave', e => { if (e.pointerType !== 'touch') hide(); }).on('blur', hide)
      .on('click', e => { const i = nearest(e); if (!touch || i === before) copyOf(i); })
      .on('focus', () => { if (at < 0 && stops.length && root.node().matches(':focus-visible')) show(stops[0], true); })
      .on('keydown', e => {
        const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
        const n = stops.length, from = stops.indexOf(at);
        if (move && n) show(stops[from < 0 && move < 0 ? n - 1 : (from + move + n) % n], true);
        else if (e.key === 'Home' && n) show(stops[0], true);
        else if (e.key === 'End' && n) show(stops[n - 1], true);
        else if (e.key === 'Enter' || e.key === ' ') copyOf(at);
        else if (e.key === 'Escape') hide();
        else return;
        e.preventDefault();
      });
  }

  function frame(host, c, w, h, what) {
    what ||= d3.sum(c.series, s => s.mute ? 0 : s.p.length) + ' points. Arrow keys go through them';
    return d3.select(host).append('svg').attr('viewBox', `0 0 ${w} ${h}`).attr('width', '100%').attr('role', 'img').attr('tabindex', 0)
      .attr('aria-label', `${c.title}: chart with ${what}${c.hint ? ', Enter copies' : ''}. A table follows.`);
  }

  function drawXY(host, c, state) {
    const w = Math.max(host.clientWidth, 260), narrow = w < 520, h = c.height || (narrow ? 300 : 380);
    const seen = c.series.filter((_, i) => !state.hidden.has(i));
    const all = key => seen.flatMap(s => s.ticks && key === 'y' ? [] : s.p.flatMap(p => [p[key], p[key + 'l'], p[key + 'h']])).filter(v => v !== undefined && isFinite(v));
    const m = { l: narrow ? 56 : 66, r: 26, t: 26, b: 46 };
    const root = frame(host, c, w, h);
    const xs = all('x').concat((c.lines || []).map(l => l.at));
    const x = scale(c.x, xs, [m.l, w - m.r], narrow ? 4 : 9);
    // Names of upright lines stand above what is drawn, in as many rows as they need.
    const ends = [], uprights = (c.lines || []).map(l => {
      const px = x.s(l.at), right = px > w * 0.6, room = right ? px - 6 : w - px - 6, tw = Math.min(textWidth(l.text), room) + 8;
      const [from, to] = right ? [px - tw, px] : [px, px + tw];
      let row = ends.findIndex(taken => taken.every(([a, b]) => to < a || from > b));
      if (row < 0) row = ends.push([]) - 1;
      ends[row].push([from, to]);
      return { px, right, room, text: l.text, y: m.t + 8 + 14 * row };
    });
    m.t += 14 * ends.length;
    const y = scale(c.y, all('y'), [h - m.b, m.t], 6);
    const fx = format(c.x), fy = format(c.y);
    const grid = svg(root, 'g', { class: 'grid' });
    x.ticks.forEach(v => svg(grid, 'path', { d: `M${x.s(v)},${m.t}V${h - m.b}` }));
    y.ticks.forEach(v => svg(grid, 'path', { d: `M${m.l},${y.s(v)}H${w - m.r}` }));
    svg(root, 'g', { class: 'axis', transform: `translate(0,${h - m.b})` }).call(d3.axisBottom(x.s).tickValues(x.ticks).tickFormat(fx).tickSizeOuter(0));
    svg(root, 'g', { class: 'axis', transform: `translate(${m.l},0)` }).call(d3.axisLeft(y.s).tickValues(y.ticks).tickFormat(fy).tickSizeOuter(0));
    words(root, 'label', { x: (m.l + w - m.r) / 2, y: h - 8, 'text-anchor': 'middle' }, c.x.label + (x.log ? ' (log)' : ''), w - m.l - m.r);
    words(root, 'label', { x: 2, y: 12 }, '↑ ' + c.y.label + (y.log ? ' (log)' : ''), w - 4);
    uprights.forEach(l => {
      svg(root, 'path', { class: 'upright', d: `M${l.px},${l.y - 10}V${h - m.b}` });
      words(root, 'upright', { x: l.px + (l.right ? -4 : 4), y: l.y, 'text-anchor': l.right ? 'end' : 'start' }, l.text, l.room);
    });
    const spots = [];
    const under = svg(root, 'g'), over = svg(root, 'g'), texts = [];
    seen.forEach(s => {
      const line = d3.line(p => x.s(p.x), p => y.s(p.y));
      if (s.step) line.curve(d3.curveStepAfter);
      if (s.area) svg(under, 'path', { class: 'area c' + s.color, d: d3.area(p => x.s(p.x), h - m.b, p => y.s(p.y))(s.p) });
      if (s.line) svg(under, 'path', { class: 'line c' + s.color + (s.dash ? ' dash' : ''), d: line(s.p) });
      s.p.forEach(p => {
        const px = x.s(p.x), py = s.ticks ? h - m.b : y.s(p.y), link = { 'data-name': c.link && p.n || undefined };
        if (s.ticks) {
          svg(under, 'path', { class: 'moment c' + s.color, d: `M${px},${py}v-10` });
        } else if (!s.bare) {
          if (p.yl !== undefined) svg(under, 'path', { class: 'error c' + s.color, d: `M${px},${y.s(p.yl)}V${y.s(p.yh)}`, ...link });
          if (p.xl !== undefined) svg(under, 'path', { class: 'error c' + s.color, d: `M${x.s(p.xl)},${py}H${x.s(p.xh)}`, ...link });
          svg(over, 'path', { class: 'mark c' + s.color + (s.ref ? ' ref' : '') + (s.light ? ' light' + s.light : '') + (p.b ? ' big' : ''), d: mark(s.shape, p.b ? 150 : s.p.length > 200 ? 14 : 56), transform: `translate(${px},${py})`, ...link });
        }
        if (p.t) texts.push([px, py, p.t + (p.n && !p.t.endsWith(p.n) ? ': ' + p.n : '')]);
        if (!s.mute) spots.push({ x: px, y: py, of: p, series: s });
      });
    });
    // A name stands where it hides least: of the places around its point, then of all
    // heights above and below it, the one with the fewest points and no other text.
    const taken = [];
    texts.forEach(([px, py, whole]) => {
      const t = cut(whole, w - m.l - 4, 'named'), tw = textWidth(t, 'named');
      const around = [[8, -11], [-8 - tw, -11], [8, 20], [-8 - tw, 20], [-tw / 2, -16], [-tw / 2, 26], [8, -28], [-8 - tw, -28], [-8 - tw, 36], [8, 36]];
      for (let d = 44; d < h; d += 8) around.push([-tw / 2, -d], [-tw / 2, d]);
      const places = around.map(([dx, dy], i) => {
        const x0 = Math.min(Math.max(px + dx, 0), w - tw), at = py + dy, b = { x0, x1: x0 + tw, y0: at - 11, y1: at + 3, y: at };
        const cross = o => o.x0 < b.x1 && o.x1 > b.x0 && o.y0 < b.y1 && o.y1 > b.y0;
        b.cost = i * 0.1 + d3.sum(spots, q => 5 * cross({ x0: q.x - 7, x1: q.x + 7, y0: q.y - 7, y1: q.y + 7 })
          + 0.4 * (q.of.yl !== undefined && cross({ x0: q.x, x1: q.x, y0: y.s(q.of.yh), y1: y.s(q.of.yl) }))
          + 0.4 * (q.of.xl !== undefined && cross({ x0: x.s(q.of.xl), x1: x.s(q.of.xh), y0: q.y, y1: q.y }))) + 100 * d3.sum(taken, o => +cross(o))
          + (b.x0 < m.l ? 10 : 0) + (b.y0 < Math.max(16, m.t - 12) || b.y1 + 2 > h - m.b ? 200 : 0);
        return b;
      });
      const b = places[d3.minIndex(places, p => p.cost)];
      taken.push(b);
      svg(root, 'text', { class: 'named', x: b.x0, y: b.y }, t);
    });
    const ring = svg(root, 'path', { class: 'ring', display: 'none' });
    spots.sort((a, b) => a.x - b.x || a.y - b.y);
    chooser(host, root, c, spots, ring);
  }

  // rows lays out the categories of bars: their heights, and room for names.
  function rows(host, c, per) {
    const w = Math.max(host.clientWidth, 260);
    const longest = d3.max(c.y.categories, t => textWidth(t)) || 0;
    const above = w < 560 || longest > w * 0.4;
    const beside = d3.max(c.series, s => d3.max(s.p, p => p.t ? textWidth(p.t) : 0)) || 0;
    const m = { l: above ? 14 : longest + 16, r: Math.max(74, Math.min(beside + 16, w * 0.4)), t: 6, b: 42 };
    const row = per + (above ? 20 : 0) + 10;
    return { w, above, m, row, top: i => m.t + i * row + (above ? 20 : 5), h: m.t + row * c.y.categories.length + m.b };
  }
  function names(root, c, r, per) {
    c.y.categories.forEach((t, i) => words(root, 'category', {
      x: r.above ? r.m.l : r.m.l - 8, y: r.above ? r.top(i) - 6 : r.top(i) + per / 2 + 4, 'text-anchor': r.above ? 'start' : 'end',
    }, t, r.above ? r.w - r.m.l - 4 : r.m.l - 8));
  }

  function drawBars(host, c, state) {
    const seen = c.series.filter((_, i) => !state.hidden.has(i));
    const each = seen.length > 1 ? 15 : 20, per = each * Math.max(seen.length, 1);
    const r = rows(host, c, per), root = frame(host, c, r.w, r.h);
    const values = seen.flatMap(s => s.p.flatMap(p => [p.x, p.xl, p.xh])).filter(v => v !== undefined);
    const x = scale({ ...c.x, zero: true }, c.x.scale === 'log' ? values.filter(v => v > 0) : values.concat(0), [r.m.l, r.w - r.m.r], r.w < 520 ? 3 : 6);
    const fx = format(c.x), grid = svg(root, 'g', { class: 'grid' });
    x.ticks.forEach(v => svg(grid, 'path', { d: `M${x.s(v)},${r.m.t}V${r.h - r.m.b}` }));
    svg(root, 'g', { class: 'axis', transform: `translate(0,${r.h - r.m.b})` }).call(d3.axisBottom(x.s).tickValues(x.ticks).tickFormat(fx).tickSizeOuter(0));
    words(root, 'label', { x: (r.m.l + r.w - r.m.r) / 2, y: r.h - 8, 'text-anchor': 'middle' }, c.x.label + (x.log ? ' (log)' : ''), r.w - r.m.l - r.m.r);
    if (x.s.domain()[0] < 0) svg(root, 'path', { class: 'zero', d: `M${x.s(0)},${r.m.t}V${r.h - r.m.b}` });
    names(root, c, r, per);
    const spots = [];
    seen.forEach((s, k) => s.p.forEach(p => {
      if (x.log && p.x <= 0) return;
      const y0 = r.top(p.y) + k * each, mid = y0 + (each - 3) / 2, px = x.s(p.x), zero = x.log ? r.m.l : x.s(0);
      const cls = 'c' + s.color + (s.ref || p.r ? ' ref' : '');
      if (x.log) { // the length of a bar means nothing on such a scale
        svg(root, 'path', { class: 'stem c' + s.color, d: `M${zero},${mid}H${px}` });
        svg(root, 'path', { class: 'mark ' + cls, d: mark(s.shape, 70), transform: `translate(${px},${mid})` });
      } else {
        svg(root, 'rect', { class: 'mark bar ' + cls, x: Math.min(zero, px), y: y0, width: Math.max(Math.abs(px - zero), 1), height: each - 3 });
      }
      if (p.xl !== undefined) svg(root, 'path', { class: 'error c0', d: `M${x.s(Math.max(p.xl, x.log ? x.s.domain()[0] : p.xl))},${mid}H${x.s(p.xh)}` });
      const after = Math.max(px, zero, p.xh === undefined ? px : x.s(p.xh)) + (x.log ? 9 : 5);
      if (p.t) words(root, 'value', { x: after, y: mid + 4 }, p.t, r.w - after - 2);
      spots.push({ x: px, y: mid, of: p, series: s, hit: (_, py) => py >= y0 && py < y0 + each });
    }));
    spots.sort((a, b) => a.y - b.y);
    chooser(host, root, c, spots, svg(root, 'path', { class: 'ring', display: 'none' }));
  }

  function drawStack(host, c, state) {
    const per = 30, r = rows(host, c, per), root = frame(host, c, r.w, r.h);
    const ends = c.y.categories.map(() => 0), seen = c.series.filter((_, i) => !state.hidden.has(i));
    seen.forEach(s => s.p.forEach(p => { ends[p.y] += p.x; }));
    const x = scale({ ...c.x, zero: true }, ends.concat(0), [r.m.l, r.w - 28], r.w < 520 ? 4 : 8);
    svg(root, 'g', { class: 'axis', transform: `translate(0,${r.h - r.m.b})` }).call(d3.axisBottom(x.s).tickValues(x.ticks).tickFormat(format(c.x)).tickSizeOuter(0));
    words(root, 'label', { x: (r.m.l + r.w - 28) / 2, y: r.h - 8, 'text-anchor': 'middle' }, c.x.label, r.w - r.m.l - 28);
    names(root, c, r, per);
    const at = c.y.categories.map(() => 0), spots = [];
    seen.forEach(s => s.p.forEach(p => {
      const x0 = x.s(at[p.y]), x1 = x.s(at[p.y] += p.x), y0 = r.top(p.y);
      svg(root, 'rect', { class: `mark bar c${s.color}` + (s.light ? ' light' + s.light : ''), x: x0, y: y0, width: Math.max(x1 - x0 - 1, 0.5), height: per });
      if (p.t && x1 - x0 > p.t.length * 7 + 8) svg(root, 'text', { class: 'inside c' + s.color + (s.light ? ' onlight' : ''), x: (x0 + x1) / 2, y: y0 + per / 2 + 4, 'text-anchor': 'middle' }, p.t);
      spots.push({ x: (x0 + x1) / 2, y: y0 + per / 2, of: p, series: s, outline: `M${x0},${y0}H${x1}V${y0 + per}H${x0}Z`, hit: (px, py) => px >= x0 && px < x1 && py >= y0 && py < y0 + per });
    }));
    spots.sort((a, b) => a.y - b.y || a.x - b.x);
    chooser(host, root, c, spots, svg(root, 'path', { class: 'ring', display: 'none' }));
  }

  const DRAW = { xy: drawXY, bars: drawBars, stack: drawStack };
  const known = new Map(), kinds = {}; // those of other files: see timeline.js, calls.js
  function chart(host, c) {
    if (kinds[c.kind]) {
      const own = { hidden: new Set(), width: 0 };
      const draw = () => {
        own.width = host.clientWidth;
        host.replaceChildren();
        kinds[c.kind](host, c, own);
      };
      draw();
      linked.watch(() => { own.restore?.(); draw(); });
      new ResizeObserver(() => { if (Math.abs(host.clientWidth - own.width) > 1) draw(); }).observe(host);
      return;
    }
    c.series = (c.series || []).map(s => ({ ...s, p: s.p || [] }));
    c.y.categories ||= [];
    known.set(c.id, c);
    c.runs ||= known.get(c.from)?.runs;
    if (c.kind === 'order') c.series = c.runs.arms.map(a => ({ ...a, p: [] })); // for the legend
    const state = { hidden: new Set(), width: 0 };
    const redraw = () => {
      const reached = () => [...host.querySelectorAll('.legend button, :scope > svg')], had = reached().indexOf(document.activeElement);
      state.width = host.clientWidth;
      host.replaceChildren();
      legend(host, c, state, redraw);
      DRAW[c.kind](host, c, state);
      highlight.again();
      if (had >= 0) reached()[had]?.focus({ preventScroll: true });
      if (c.hint) d3.select(host).append('p').attr('class', 'hint').text(matchMedia('(hover: none)').matches ? c.hint.replace(/^Click a point/, 'Tap a point twice') : c.hint);
    };
    redraw();
    new ResizeObserver(() => { if (Math.abs(host.clientWidth - state.width) > 1) redraw(); }).observe(host);
  }

  // What is shown beside a point.
  const tipBox = document.getElementById('tip'), live = document.getElementById('live');
  function tip(host, root, p, c) {
    showTip(root, p, [c.series.length > 1 ? p.series.name : '', p.of.n].filter(Boolean).join(': ') || c.title, p.of.tip || []);
  }
  // showTip shows figures beside a place of a chart: x and y, in its own units.
  function showTip(root, p, title, rows) {
    tipBox.replaceChildren();
    const t = d3.select(tipBox);
    t.append('p').attr('class', 'tip-name').text(title);
    const dl = t.append('dl');
    rows.forEach(([k, v]) => { dl.append('dt').text(k); dl.append('dd').text(v); });
    tipBox.hidden = false;
    const box = root.node().getBoundingClientRect(), k = box.width / root.node().viewBox.baseVal.width;
    const x = box.left + p.x * k, y = box.top + p.y * k, size = tipBox.getBoundingClientRect();
    let left = x + 14, top = y - size.height - 10;
    if (left + size.width > innerWidth - 8) left = Math.max(8, x - size.width - 14);
    if (top < 8) top = Math.min(y + 16, innerHeight - size.height - 8);
    tipBox.style.left = left + 'px';
    tipBox.style.top = Math.max(8, top) + 'px';
  }
  function hideTip() { tipBox.hidden = true; }
  // A tap beside all charts puts away what a tap has shown.
  document.addEventListener('pointerdown', e => { if (!e.target.closest('.chart > svg')) hideTip(); });
  function say(text) { live.textContent = text; }

  // copy says what it copied: the text, where nothing shorter is given.
  async function copy(text, what = text) {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      const area = document.createElement('textarea'), before = document.activeElement;
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand('copy');
      area.remove();
      if (before) before.focus();
    }
    document.documentElement.dataset.copied = done ? text : '';
    toast((done ? 'Copied: ' : 'Could not copy: ') + what);
    return done;
  }
  function toast(text) {
    say(text);
    const t = d3.select(document.body).append('div').attr('class', 'toast').text(text);
    setTimeout(() => t.remove(), 2500);
  }

  return { chart, copy, say, kinds, drawn: DRAW, tools: { SHAPES, format, scale, svg, words, textWidth, frame, rows, names, chooser, mark, state: linked, say, tip: showTip, hideTip, copy } };
})();
