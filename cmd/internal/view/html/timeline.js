'use strict';
// Timelines: lanes of figures above one another, over the same time, that can be zoomed.
// A chart of kind time has lanes (page.go says what they hold).
folio.kinds.time = (() => {
  const { format, scale, svg, words, textWidth, state, say, tip, hideTip } = folio.tools;
  const LANE = 112, FIRST = 210, GAP = 30;

  // at is the last of sorted xs that is not after x; -1 for none.
  const at = (xs, x) => d3.bisectRight(xs, x) - 1;

  function values(lane, hidden, from, to) {
    const out = [];
    for (const s of lane.series) {
      if (hidden.has(s.name)) continue;
      for (let i = Math.max(0, at(s.x, from)); i < s.x.length && s.x[i] <= to; i++) {
        if (s.kind === 'line' || s.x[i] >= from) out.push(s.y[i]);
      }
    }
    return out;
  }

  // line is the path of a series within the window, with one point on each side.
  function path(s, x, y, from, to, base) {
    const i = Math.max(0, at(s.x, from)), j = Math.min(s.x.length, at(s.x, to) + 2);
    const curve = s.step ? d3.curveStepAfter : d3.curveLinear, cuts = [i, ...(s.gaps || []).filter(k => k > i && k < j), j];
    // A piece between gaps; of one point, a dot.
    const pieces = d3.pairs(cuts).map(([a, b]) => d3.range(a, b).map(k => [x(s.x[k]), y(s.y[k])]));
    const dot = ([a, b]) => `M${a - 2},${b}H${a + 2}`, line = d3.line().curve(curve), area = d3.area().curve(curve).y0(base);
    return { line: pieces.map(p => p.length === 1 ? dot(p[0]) : line(p)).join(''), area: s.area ? pieces.map(p => area(p)).join('') : null };
  }

  return function draw(host, c, own) {
    const all = [0, c.end], id = host.id;
    const saved = (state.get(id, 't') || '').split('~').map(Number);
    own.window ||= saved.length === 2 && saved.every(isFinite) && saved[0] < saved[1] ? saved : all;
    const clamp = ([a, b]) => {
      const span = Math.min(Math.max(b - a, c.end / 1e4), c.end);
      const from = Math.min(Math.max(a, 0), c.end - span);
      return [from, from + span];
    };
    const set = w => {
      own.window = clamp(w);
      state.set(id, 't', own.window[1] - own.window[0] > c.end * 0.9999 ? '' : own.window.map(v => +v.toPrecision(6)).join('~'));
      redraw();
      say(`from ${format(c.x)(own.window[0])} to ${format(c.x)(own.window[1])}`);
    };
    const zoom = k => { const [a, b] = own.window, mid = own.cursor ?? (a + b) / 2; set([mid - (mid - a) * k, mid + (b - mid) * k]); };
    const pan = k => { const [a, b] = own.window, d = (b - a) * k; set([a + d, b + d]); };

    const bar = d3.select(host).append('div').attr('class', 'tools').attr('role', 'toolbar').attr('aria-label', c.title + ': window');
    for (const [text, run] of [['Zoom in', () => zoom(0.5)], ['Zoom out', () => zoom(2)], ['Earlier', () => pan(-0.5)], ['Later', () => pan(0.5)], ['All', () => set(all)]]) {
      bar.append('button').attr('type', 'button').text(text).on('click', run);
    }
    const names = [...new Map(c.lanes.flatMap(l => l.series).map(s => [s.name, s])).values()];
    const legend = d3.select(host).append('ul').attr('class', 'legend');
    for (const s of names) {
      const b = legend.append('li').append('button').attr('type', 'button').attr('title', 'show or hide')
        .attr('aria-pressed', String(!own.hidden.has(s.name))).on('click', () => {
          own.hidden.has(s.name) ? own.hidden.delete(s.name) : own.hidden.add(s.name);
          b.attr('aria-pressed', String(!own.hidden.has(s.name)));
          redraw();
        });
      const g = b.append('svg').attr('width', 22).attr('height', 14).attr('aria-hidden', 'true');
      svg(g, 'path', { d: s.kind === 'line' ? 'M1,7H21' : 'M8,13V2M14,13V5', class: 'line c' + s.color + (s.dash ? ' dash' : '') });
      b.append('span').text(s.name);
    }
    const place = d3.select(host).append('div').node();
    let spots = [];

    function redraw() {
      place.replaceChildren();
      const w = Math.max(host.clientWidth, 260), narrow = w < 520, [from, to] = own.window;
      const m = { l: narrow ? 56 : 66, r: 16 };
      const heights = c.lanes.map((l, i) => i === 0 ? FIRST : LANE), h = d3.sum(heights) + GAP * c.lanes.length + 38;
      const root = d3.select(place).append('svg').attr('viewBox', `0 0 ${w} ${h}`).attr('width', '100%').attr('tabindex', 0).attr('role', 'img')
        .attr('aria-label', `${c.title}: ${c.lanes.map(l => l.label).join(', ')}, over time. Arrow keys move through the time, plus and minus zoom, 0 shows all. A table follows.`);
      const x = d3.scaleLinear().domain([from, to]).range([m.l, w - m.r]), fx = format(c.x);
      const ticks = d3.ticks(from, to, narrow ? 4 : 9);
      const clip = root.append('clipPath').attr('id', id + '-clip');
      svg(clip, 'rect', { x: m.l, y: 0, width: w - m.l - m.r, height: h });
      let top = GAP - 6;
      spots = [];
      c.lanes.forEach((lane, i) => {
        const bottom = top + heights[i], fy = format(lane), y = scale({ ...lane, zero: true }, values(lane, own.hidden, from, to).concat(0), [bottom, top], i === 0 ? 6 : 3);
        const grid = svg(root, 'g', { class: 'grid' });
        ticks.forEach(v => svg(grid, 'path', { d: `M${x(v)},${top}V${bottom}` }));
        y.ticks.forEach(v => svg(grid, 'path', { d: `M${m.l},${y.s(v)}H${w - m.r}` }));
        svg(root, 'g', { class: 'axis', transform: `translate(${m.l},0)` }).call(d3.axisLeft(y.s).tickValues(y.ticks).tickFormat(fy).tickSizeOuter(0));
        words(root, 'label', { x: 2, y: top - 8 }, '↑ ' + lane.label, w - 4);
        const g = svg(root, 'g', { 'clip-path': `url(#${id}-clip)` });
        for (const s of lane.series) {
          if (own.hidden.has(s.name)) continue;
          if (s.kind === 'line') {
            const p = path(s, x, y.s, from, to, bottom);
            if (p.area) svg(g, 'path', { class: 'area c' + s.color, d: p.area });
            svg(g, 'path', { class: 'line c' + s.color + (s.dash ? ' dash' : ''), d: p.line });
          } else {
            const i0 = Math.max(0, at(s.x, from)), i1 = at(s.x, to) + 1;
            svg(g, 'path', { class: 'stick c' + s.color, d: d3.range(i0, i1).filter(k => s.y[k] > 0).map(k => `M${x(s.x[k])},${bottom}V${Math.min(y.s(s.y[k]), bottom - 1)}`).join('') });
          }
        }
        spots.push({ lane, top, bottom, fy });
        top = bottom + GAP;
      });
      const foot = top - GAP;
      svg(root, 'g', { class: 'axis', transform: `translate(0,${foot})` }).call(d3.axisBottom(x).tickValues(ticks).tickFormat(fx).tickSizeOuter(0));
      words(root, 'label', { x: (m.l + w - m.r) / 2, y: h - 8, 'text-anchor': 'middle' }, c.x.label, w - m.l - m.r);
      const hair = svg(root, 'path', { class: 'hair', display: 'none' }), brush = svg(root, 'rect', { class: 'brush', display: 'none', y: 0, height: foot });

      const show = (t, speak) => {
        own.cursor = Math.min(Math.max(t, from), to);
        hair.attr('d', `M${x(own.cursor)},0V${foot}`).attr('display', null);
        const rows = [['at', fx(own.cursor)]];
        for (const l of spots) {
          for (const s of l.lane.series) {
            const k = own.hidden.has(s.name) ? -1 : at(s.x, own.cursor);
            // A line holds until its next point; a stick was then.
            const then = k >= 0 && s.kind !== 'line' && x(own.cursor) - x(s.x[k]) > 4 ? `, last at ${fx(s.x[k])}` : '';
            if (k >= 0) rows.push([c.lanes.length > 1 && names.length < d3.sum(c.lanes, n => n.series.length) ? `${l.lane.label}, ${s.name}` : s.name, l.fy(s.y[k]) + then]);
          }
        }
        tip(root, { x: x(own.cursor), y: spots[0].top + 20 }, c.title, rows);
        if (speak) say(rows.map(r => r.join(' ')).join(', '));
      };
      const hide = () => { own.cursor = null; hair.attr('display', 'none'); hideTip(); };
      const timeOf = e => x.invert(d3.pointer(e, root.node())[0]);
      let start = null;
      root.on('pointerdown', e => { if (e.button === 0) { start = timeOf(e); if (e.pointerType !== 'touch') root.node().setPointerCapture(e.pointerId); show(start); } })
        .on('pointermove', e => {
          const t = timeOf(e);
          if (start !== null && e.buttons) {
            const [a, b] = [Math.max(Math.min(start, t), from), Math.min(Math.max(start, t), to)];
            brush.attr('x', x(a)).attr('width', Math.max(0, x(b) - x(a))).attr('display', null);
          }
          show(t);
        })
        .on('pointerup', e => {
          const t = timeOf(e), from0 = start;
          start = null;
          brush.attr('display', 'none');
          if (from0 !== null && Math.abs(x(t) - x(from0)) > 8) set([Math.min(from0, t), Math.max(from0, t)]);
        })
        .on('pointercancel', () => { start = null; brush.attr('display', 'none'); })
        .on('pointerleave', e => { if (e.pointerType !== 'touch' && start === null) hide(); }).on('blur', hide)
        .on('dblclick', () => set(all))
        .on('focus', () => { if (own.cursor == null && root.node().matches(':focus-visible')) show(from, true); })
        .on('keydown', e => {
          const step = (to - from) / 50 * (e.shiftKey ? 10 : 1);
          if (e.key === 'ArrowRight') show((own.cursor ?? from) + step, true);
          else if (e.key === 'ArrowLeft') show((own.cursor ?? to) - step, true);
          else if (e.key === '+' || e.key === '=') zoom(0.5);
          else if (e.key === '-') zoom(2);
          else if (e.key === '0') set(all);
          else if (e.key === 'Escape') hide();
          else return;
          e.preventDefault();
          if (['+', '=', '-', '0'].includes(e.key)) place.querySelector('svg').focus();
        });
    }
    redraw();
    own.restore = () => { own.window = null; };
  };
})();
