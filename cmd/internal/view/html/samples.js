
// Charts of every run: a row of dots for each arm (a strip plot), and the runs in the
// order in which they were made. Dots of an arm are one path: pages have thousands.
(() => {
  const { SHAPES, scale, format, svg, words, frame, rows, names, chooser, mark } = folio.tools;

  // dots returns the path of a symbol at each of the places.
  function dots(places, shape, size) {
    let d = '';
    for (const [x, y] of places) {
      const at = (px, py) => (px + x).toFixed(1) + ',' + (py + y).toFixed(1);
      let started = false;
      const context = {
        moveTo: (a, b) => { d += 'M' + at(a, b); started = true; },
        lineTo: (a, b) => { d += 'L' + at(a, b); },
        closePath: () => { d += 'Z'; },
        rect: (a, b, w, h) => { d += `M${at(a, b)}h${w.toFixed(1)}v${h.toFixed(1)}h${(-w).toFixed(1)}Z`; },
        arc: (a, b, r) => { // only whole circles
          d += `${started ? '' : 'M' + at(a + r, b)}A${r.toFixed(1)},${r.toFixed(1)} 0 1 1 ${at(a - r, b)}A${r.toFixed(1)},${r.toFixed(1)} 0 1 1 ${at(a + r, b)}Z`;
        },
      };
      d3.symbol(SHAPES[shape % SHAPES.length], size).context(context)();
    }
    return d;
  }

  // swarm places dots of one row so that none hides another: each as near to the middle
  // as those before it let it, as large as fits. Dots that do not fit in any size are
  // spread over the height of the row, evenly and the same way each time.
  // Returns the distances from the middle, and the radius.
  function swarm(xs, half) {
    const order = d3.range(xs.length).sort((a, b) => xs[a] - xs[b]);
    for (const r of [3.4, 2.8, 2.2, 1.7, 1.3]) {
      const y = packed(xs, order, r, half - r);
      if (y) return { y, r };
    }
    const r = 1.3, y = [];
    order.forEach((i, k) => { y[i] = (half - r) * (2 * (k * 0.618034 % 1) - 1); });
    return { y, r };
  }
  // packed places dots of a radius; null if one would be further out than most.
  function packed(xs, order, r, most) {
    const y = [], near = [];
    for (const i of order) {
      while (near.length && xs[i] - xs[near[0]] > 2 * r) near.shift();
      const gaps = near.map(j => [y[j], Math.sqrt(Math.max(0, 4 * r * r - (xs[i] - xs[j]) ** 2))]);
      const free = at => gaps.every(([o, gap]) => Math.abs(at - o) >= gap - 1e-6);
      const places = [0, ...gaps.flatMap(([o, gap]) => [o - gap, o + gap])].filter(at => Math.abs(at) <= most);
      y[i] = places.sort((a, b) => Math.abs(a) - Math.abs(b) || a - b).find(free);
      if (y[i] === undefined) return null;
      near.push(i);
    }
    return y;
  }

  const value = (c, v) => format(c.kind === 'strip' ? c.x : c.y, 4)(v);
  const metric = c => (c.kind === 'strip' ? c.x : c.y).label;
  const phase = (runs, round) => runs.race ? [['of', round <= runs.race ? 'the race' : 'the final']] : [];
  const runTip = (c, a, i) => [[metric(c), value(c, a.v[i])], ['run', String(a.at[i])], ['round', String(a.round[i])], ...phase(c.runs, a.round[i])];
  const medianTip = (c, a) => [['median', a.text || '-'], ...(a.between ? [['95% interval', a.between]] : []),
    ...(a.n ? [['runs', String(a.n)]] : []), ...(a.lost ? [['failed', String(a.lost)]] : [])];
  // spot is a place of a chart whose words are made when they are asked for.
  const spot = (x, y, a, make) => ({ x, y, name: a.name, series: a, of: { get tip() { return make(); } } });
  // drawDots draws those of an arm: of the race hollow, of the final full.
  function drawDots(g, c, a, places, shape, size) {
    const race = i => a.round[i] <= (c.runs.race || 0);
    for (const hollow of [true, false]) {
      const some = places.filter((_, i) => race(i) === hollow);
      if (some.length) svg(g, 'path', { class: 'dots c' + a.color + (hollow ? ' race' : size < 16 ? ' small' : ''), d: dots(some, shape, size) });
    }
  }

  function drawStrip(host, c) {
    const arms = c.runs.arms, per = arms.length > 8 ? 34 : arms.length > 1 ? 46 : 70;
    c.y.categories = arms.map(a => a.name + (a.lost ? ` (${a.lost} failed)` : ''));
    const r = rows(host, c, per);
    const root = frame(host, c, r.w, r.h, `${d3.sum(arms, a => a.v.length)} runs of ${arms.length} ${arms.length > 1 ? 'rows. Arrow keys go through the rows' : 'row'}`);
    const all = arms.flatMap(a => [...a.v, a.median, a.lo, a.hi]).filter(v => v !== undefined);
    const x = scale(c.x, all, [r.m.l + 6, r.w - r.m.r], r.w < 520 ? 3 : 6);
    const grid = svg(root, 'g', { class: 'grid' });
    x.ticks.forEach(v => svg(grid, 'path', { d: `M${x.s(v)},${r.m.t}V${r.h - r.m.b}` }));
    svg(root, 'g', { class: 'axis', transform: `translate(0,${r.h - r.m.b})` }).call(d3.axisBottom(x.s).tickValues(x.ticks).tickFormat(format(c.x)).tickSizeOuter(0));
    words(root, 'label', { x: (r.m.l + r.w - r.m.r) / 2, y: r.h - 8, 'text-anchor': 'middle' }, c.x.label + (x.log ? ' (log)' : ''), r.w - r.m.l - r.m.r);
    names(root, c, r, per);
    const spots = [], stops = [];
    arms.forEach((a, k) => {
      const g = svg(root, 'g', { class: 'arm', 'data-name': c.link ? a.name : undefined });
      const mid = r.top(k) + per / 2, xs = a.v.map(v => x.s(v)), at = swarm(xs, per / 2);
      const places = xs.map((px, i) => [px, mid + at.y[i]]);
      const top = mid - per / 2 + 1, foot = mid + per / 2 - 1;
      if (a.lo !== undefined) svg(g, 'path', { class: 'interval', d: `M${x.s(a.lo)},${top}V${foot}H${x.s(a.hi)}V${top}Z` });
      drawDots(g, c, a, places, 0, Math.PI * at.r * at.r);
      if (a.median !== undefined) {
        const px = x.s(a.median);
        svg(g, 'path', { class: 'median', d: `M${px},${top - 3}V${foot + 3}` });
        words(root, 'value', { x: r.w - 2, y: mid + 4, 'text-anchor': 'end' }, a.text, r.m.r - 8);
        stops.push(spots.push(spot(px, mid, a, () => medianTip(c, a))) - 1);
      } else {
        stops.push(spots.push(spot(r.m.l + 6, mid, a, () => medianTip(c, a))) - 1);
      }
      places.forEach(([px, py], i) => spots.push(spot(px, py, a, () => runTip(c, a, i))));
    });
    chooser(host, root, c, spots, svg(root, 'path', { class: 'ring', display: 'none' }), stops);
  }

  function drawOrder(host, c, state) {
    const arms = c.runs.arms.filter((_, i) => !state.hidden.has(i)), runs = c.runs;
    const w = Math.max(host.clientWidth, 260), narrow = w < 520, h = c.height;
    const lost = arms.some(a => a.lost), m = { l: narrow ? 56 : 66, r: 26, t: 26, b: 46 }, foot = h - m.b - (lost ? 22 : 0);
    const root = frame(host, c, w, h, d3.sum(arms, a => a.v.length) + ' runs. Arrow keys go through them');
    const every = arms.flatMap(a => [...a.at.map((at, i) => ({ at, round: a.round[i] })), ...(a.failed || [])]);
    const x = d3.scaleLinear().domain([d3.min(every, e => e.at) - 0.7, d3.max(every, e => e.at) + 0.7]).range([m.l, w - m.r]);
    const y = scale(c.y, arms.flatMap(a => a.v), [foot, m.t], 6);
    // Rounds: where each begins, and every second one shaded; several as one where they
    // would be too narrow to see.
    if (!runs.apart && runs.arms.length > 1 && every.length) {
      const begin = d3.rollups(every, v => d3.min(v, e => e.at), e => e.round).sort((a, b) => a[0] - b[0]);
      const step = Math.max(1, Math.ceil(6 * begin.length / (w - m.l - m.r)));
      const edges = begin.filter((_, i) => i % step === 0).map(([, at]) => x(at - 0.5)).concat(w - m.r);
      for (let i = 1; i + 1 < edges.length; i += 2) svg(root, 'rect', { class: 'round', x: edges[i], y: m.t, width: Math.max(0, edges[i + 1] - edges[i]), height: h - m.b - m.t });
      const final = begin.find(([round]) => runs.race && round > runs.race);
      if (final && final !== begin[0]) {
        const px = x(final[1] - 0.5), right = px > w * 0.6;
        svg(root, 'path', { class: 'upright', d: `M${px},${m.t}V${h - m.b}` });
        svg(root, 'text', { class: 'upright', x: px + (right ? -4 : 4), y: m.t + 11, 'text-anchor': right ? 'end' : 'start' }, 'final');
      }
    }
    const grid = svg(root, 'g', { class: 'grid' });
    y.ticks.forEach(v => svg(grid, 'path', { d: `M${m.l},${y.s(v)}H${w - m.r}` }));
    const whole = x.ticks(narrow ? 4 : 9).filter(v => Number.isInteger(v) && v > 0);
    svg(root, 'g', { class: 'axis', transform: `translate(0,${h - m.b})` }).call(d3.axisBottom(x).tickValues(whole).tickFormat(format(c.x)).tickSizeOuter(0));
    svg(root, 'g', { class: 'axis', transform: `translate(${m.l},0)` }).call(d3.axisLeft(y.s).tickValues(y.ticks).tickFormat(format(c.y)).tickSizeOuter(0));
    words(root, 'label', { x: (m.l + w - m.r) / 2, y: h - 8, 'text-anchor': 'middle' }, c.x.label, w - m.l - m.r);
    words(root, 'label', { x: 2, y: 12 }, '↑ ' + c.y.label + (y.log ? ' (log)' : ''), w - 4);
    if (lost) svg(root, 'text', { class: 'label', x: m.l - 9, y: h - m.b - 6, 'text-anchor': 'end' }, 'failed');
    const spots = [], size = every.length > 1000 ? 12 : every.length > 200 ? 24 : 44;
    arms.forEach(a => {
      const g = svg(root, 'g', { class: 'arm', 'data-name': c.link ? a.name : undefined });
      const places = a.v.map((v, i) => [x(a.at[i]), y.s(v)]);
      if (places.length) svg(g, 'path', { class: 'thread c' + a.color + (runs.arms.length > 3 ? '' : ' seen'), d: d3.line()(places) });
      drawDots(g, c, a, places, a.shape, size);
      places.forEach(([px, py], i) => spots.push(spot(px, py, a, () => runTip(c, a, i))));
      const failed = (a.failed || []).map(f => [x(f.at), h - m.b - 10]);
      if (failed.length) svg(g, 'path', { class: 'failure c' + a.color, d: failed.map(([px, py]) => `M${px - 4},${py - 4}l8,8m0,-8l-8,8`).join('') });
      failed.forEach(([px, py], i) => {
        const f = a.failed[i];
        spots.push(spot(px, py, a, () => [['failed', f.why], ['run', String(f.at)], ['round', String(f.round)], ...phase(runs, f.round)]));
      });
    });
    spots.sort((a, b) => a.x - b.x || a.y - b.y);
    chooser(host, root, c, spots, svg(root, 'path', { class: 'ring', display: 'none' }));
  }

  Object.assign(folio.drawn, { strip: drawStrip, order: drawOrder });
})();
