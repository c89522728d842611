'use strict';
// Time by call path: an icicle of all paths, callers above what they call, and what calls
// a function and what it calls. A chart of kind calls has the trees (page.go).
folio.kinds.calls = (() => {
  const { svg, state, say, tip, hideTip, copy, textWidth } = folio.tools;
  const ROW = 24, MONO = 'mono';

  // Nodes of a tree: a function, the values by class of each run that is shown (one, or
  // two to compare), of the node with all that it calls, and of itself.
  const node = (f, sides, classes) => ({ f, line: 0, kids: new Map(), of: Array.from({ length: sides }, () => new Float64Array(classes)),
    self: Array.from({ length: sides }, () => new Float64Array(classes)) });
  const key = f => f.name + '\n' + (f.file || '');

  // grow puts the trees of the runs into one.
  function grow(trees, classes) {
    const root = node({ name: 'all' }, trees.length, classes.length), known = new Map();
    // of returns a function with what it spent on all paths of each run.
    const of = (t, side, i) => {
      const k = t.f[i] + '\n' + t.s[i];
      if (!known.has(k)) known.set(k, { name: t.f[i], file: t.s[i], uncertain: (t.u || []).includes(i), totals: trees.map(() => null) });
      const f = known.get(k);
      f.totals[side] = t.t[i];
      return f;
    };
    trees.forEach((t, side) => {
      const made = t.p.map(() => null);
      t.p.forEach((p, i) => {
        const up = p < 0 ? root : made[p], f = of(t, side, t.c[i]), k = key(f);
        let n = up.kids.get(k);
        if (!n) up.kids.set(k, n = node(f, trees.length, classes.length));
        n.line ||= t.l[i];
        n.up = up;
        made[i] = n;
      });
      t.n.forEach((i, j) => {
        const c = t.k[j];
        made[i].self[side][c] += t.v[j];
        for (let n = made[i]; n; n = n.up) n.of[side][c] += t.v[j];
      });
    });
    return root;
  }

  // add adds the values of a node, and of what it calls, to another one.
  function add(to, from) {
    to.line ||= from.line;
    from.of.forEach((v, s) => v.forEach((x, c) => { to.of[s][c] += x; }));
    from.self.forEach((v, s) => v.forEach((x, c) => { to.self[s][c] += x; }));
    from.kids.forEach((kid, k) => {
      let n = to.kids.get(k);
      if (!n) { to.kids.set(k, n = node(kid.f, kid.of.length, kid.of[0].length)); n.up = to; }
      add(n, kid);
    });
  }

  // around is what a function calls, and what calls it, wherever it is: of calls of
  // itself, only the outermost counts.
  function around(root, k) {
    const blank = f => node(f, root.of.length, root.of[0].length);
    let callees = null, callers = null;
    (function walk(n) {
      for (const [name, kid] of n.kids) {
        if (name !== k) { walk(kid); continue; }
        if (!callees) { callees = blank(kid.f); callers = blank(kid.f); }
        add(callees, kid);
        let at = callers;
        const count = m => kid.of.forEach((v, s) => v.forEach((x, c) => { m.of[s][c] += x; }));
        count(at);
        for (let up = kid.up; up && up.up; up = up.up) {
          const name = key(up.f);
          let m = at.kids.get(name);
          if (!m) { at.kids.set(name, m = blank(up.f)); m.up = at; }
          m.line ||= up.line;
          count(m);
          at = m;
        }
      }
    })(root);
    return callees && { callees, callers };
  }

  return function draw(host, c, own) {
    const id = host.id, classes = c.classes, paired = c.trees.length > 1;
    const cost = classes.map(k => k.memory), some = c.trees.some(t => t.pruned); // calls are missing
    const views = c.trees.map((t, i) => ({ name: t.name, sides: [i] }));
    for (let i = 1; i < c.trees.length; i++) views.push({ name: `${c.trees[i].name} against ${c.trees[0].name}`, sides: [0, i] });
    own.roots ||= [];
    const get = (k, or) => state.get(id, k) ?? or;
    let view, all, find, focus, pick;
    const load = () => {
      view = Math.min(Math.max(+get('view', 0) || 0, 0), views.length - 1);
      all = get('all', '') === 'yes' || !c.memory;
      find = get('find', '');
      focus = get('at', '');
      pick = get('function', '');
    };
    const save = () => {
      state.set(id, 'view', view ? String(view) : '');
      state.set(id, 'all', all && c.memory ? 'yes' : '');
      state.set(id, 'find', find);
      state.set(id, 'at', focus);
      state.set(id, 'function', pick);
    };
    load();
    const sides = () => views[view].sides;
    const root = () => own.roots[view] ||= grow(sides().map(i => c.trees[i]), classes);
    const sum = v => { let s = 0; for (let i = 0; i < v.length; i++) if (all || cost[i]) s += v[i]; return s; };
    const value = n => d3.sum(n.of, sum);
    const whole = side => c.trees[sides()[side]].total; // what shares are of
    const amount = v => c.unit === 'bytes' ? folio.tools.format({ format: 'bytes' })(v) : folio.tools.format({ format: 'seconds' })(v);
    const share = (v, side) => whole(side) > 0 ? (100 * v / whole(side)).toFixed(1) + '%' : '-';
    const short = name => name.slice(name.lastIndexOf('/', name.indexOf('[') < 0 ? name.length : name.indexOf('[')) + 1);
    const place = n => n.f.file ? n.f.file.slice(n.f.file.lastIndexOf('/') + 1) + (n.line ? ':' + n.line : '') : '';
    const title = n => n.f.name + (n.f.uncertain ? ' (name uncertain)' : '');

    // The class that three quarters of a node are of, if one is; in comparisons, by how much it differs.
    function color(n) {
      if (sides().length > 1) {
        const [a, b] = n.of.map(sum), d = (b - a) / Math.max(a, b);
        const step = Math.abs(d) < 0.05 ? 0 : Math.abs(d) < 0.2 ? 1 : Math.abs(d) < 0.5 ? 2 : 3;
        return 'diff ' + (step === 0 ? 'same' : (d < 0 ? 'less' : 'more') + step);
      }
      const v = value(n), best = n.of[0].findIndex((of, i) => (all || cost[i]) && of >= 0.75 * v);
      return best < 0 || !(v > 0) ? 'mixed' : `c${classes[best].color}` + (classes[best].light ? ' light' + classes[best].light : '');
    }
    function rows(n) {
      const out = [];
      if (place(n)) out.push(['at', place(n)]);
      if (sides().length > 1) {
        const [a, b] = n.of.map(sum), name = i => c.trees[sides()[i]].name;
        out.push([name(0), `${amount(a)}, ${share(a, 0)}`], [name(1), `${amount(b)}, ${share(b, 1)}`], ['difference', (b < a ? '−' : '+') + amount(Math.abs(b - a))]);
        return out;
      }
      const t = sum(n.of[0]), self = sum(n.self[0]);
      out.push([c.what, `${amount(t)}, ${share(t, 0)}`], [some ? 'in itself and in small calls' : 'in itself', `${amount(self)}, ${share(self, 0)}`]);
      const by = classes.map((k, i) => [k.title, n.of[0][i]]).filter(([, v], i) => v > 0 && (all || cost[i])).sort((a, b) => b[1] - a[1]);
      for (const [k, v] of by.slice(0, 5)) out.push([k, `${amount(v)}, ${share(v, 0)}`]);
      return out;
    }

    // Tools.
    const tools = d3.select(host).append('div').attr('class', 'tools');
    const choice = (label, options, is, set) => {
      const g = tools.append('div').attr('role', 'group').attr('aria-label', label);
      const buttons = options.map(([text, v]) => g.append('button').attr('type', 'button').text(text).on('click', () => { set(v); redraw(); }));
      return () => buttons.forEach((b, i) => b.attr('aria-pressed', String(is(options[i][1]))));
    };
    const marks = [];
    if (views.length > 1) marks.push(choice('Setting', views.map((v, i) => [v.name, i]), v => v === view, v => { view = v; }));
    if (c.memory) marks.push(choice('What is shown', [['Memory tax', false], ['All CPU time', true]], v => v === all, v => { all = v; }));
    const box = tools.append('label').text('Find ').append('input').attr('type', 'search').attr('placeholder', 'regular expression').attr('spellcheck', 'false')
      .on('input', () => { find = box.property('value'); redraw(true); });
    const found = tools.append('span').attr('class', 'found').attr('role', 'status');
    tools.append('button').attr('type', 'button').text('All paths').on('click', () => { focus = ''; pick = ''; redraw(); });
    const key2 = d3.select(host).append('ul').attr('class', 'legend static');
    const stage = d3.select(host).append('div').attr('class', 'scroll calls').attr('tabindex', null).node();
    const detail = d3.select(host).append('div').attr('class', 'detail-of').node();

    function legend() {
      key2.selectAll('*').remove();
      const item = (cls, text) => {
        const li = key2.append('li');
        svg(li.append('svg').attr('width', 22).attr('height', 14).attr('aria-hidden', 'true'), 'rect', { x: 3, y: 1, width: 16, height: 12, class: 'call ' + cls });
        li.append('span').text(text);
      };
      if (sides().length > 1) {
        [['diff less3', 'at least half less'], ['diff less2', 'less'], ['diff same', 'within 5%'], ['diff more2', 'more'], ['diff more3', 'more than twice']].forEach(([k, t]) => item(k, t));
        return;
      }
      const r = root();
      classes.forEach((k, i) => { if (r.of[0][i] > 0 && (all || cost[i])) item(`c${k.color}` + (k.light ? ' light' + k.light : ''), k.title + (all && k.memory ? ' *' : '')); });
      item('mixed', 'several');
    }

    // paths names the place of a node: the functions from the root on.
    const paths = n => { const out = []; for (; n && n.up; n = n.up) out.unshift(n.f.name); return out.join(';'); };
    function at(path) {
      let n = root();
      for (const name of path ? path.split(';') : []) {
        const next = [...n.kids.values()].find(k => k.f.name === name);
        if (!next) return null;
        n = next;
      }
      return n.up ? n : null;
    }

    // icicle draws a tree, callers above; up turns it around.
    function icicle(parent, top, opts) {
      const w = Math.max(parent.clientWidth, 240), pixel = value(top) / w, spots = [];
      let depth = 0;
      (function lay(n, x, d, dim) {
        const v = value(n), width = v / pixel;
        if (width < 0.7 || !(v > 0)) return;
        depth = Math.max(depth, d);
        const s = { n, x, width, d, kids: [], dim };
        spots.push(s);
        const kids = [...n.kids.values()].map(k => [value(k), k]).sort((a, b) => b[0] - a[0] || (a[1].f.name < b[1].f.name ? -1 : 1));
        let at = x;
        for (const [kv, k] of kids) { const before = spots.length; lay(k, at, d + 1, false); if (spots.length > before) { s.kids.push(before); spots[before].parent = s; } at += kv / pixel; }
      })(top, 0, 0, false);
      // The calls above the one that is shown, dimmed, to go back to.
      const above = [];
      if (!opts.up && !opts.alone) for (let n = top.up; n; n = n.up) above.unshift({ n, x: 0, width: w, d: above.length, kids: [], dim: true });
      above.forEach((s, i) => { s.d = i; });
      const lift = above.length;
      spots.forEach(s => { s.d = opts.up ? depth - s.d : s.d + lift; });
      const shown = above.concat(spots), h = (depth + 1 + lift) * ROW;
      const chart = d3.select(parent).append('svg').attr('viewBox', `0 0 ${w} ${h}`).attr('width', w).attr('height', h).attr('tabindex', 0).attr('role', 'img')
        .attr('aria-label', `${opts.label}: ${spots.length} calls. Arrow keys go to callers, calls and neighbors, Enter shows what is called there, f the function, Escape all. A table follows.`);
      const pattern = compiled();
      const unit = textWidth('MMMMMMMMMM', MONO) / 10;
      for (const s of shown) {
        const hit = pattern && pattern.test(s.n.f.name);
        const cls = color(s.n), ink = /light|diff|mixed/.test(cls) ? '' : cls;
        const g = svg(chart, 'g', { class: (pattern ? hit ? 'hit' : 'miss' : '') + (s.dim ? ' dim' : '') });
        svg(g, 'rect', { class: 'call ' + cls, x: s.x, y: s.d * ROW, width: Math.max(s.width - 0.6, 0.6), height: ROW - 1 });
        const room = Math.floor((s.width - 6) / unit);
        if (room >= 3) {
          const text = s.n.up || opts.up || opts.alone ? short(s.n.f.name) : 'all';
          svg(g, 'text', { class: 'call-name ' + ink, x: s.x + 3, y: s.d * ROW + 16 }, text.length > room ? text.slice(0, room - 1) + '…' : text);
        }
      }
      const ring = svg(chart, 'path', { class: 'ring', display: 'none' });
      let now = -1;
      const show = (i, speak) => {
        now = i;
        const s = shown[i], y = s.d * ROW;
        ring.attr('d', `M${s.x},${y}h${s.width}v${ROW - 1}h${-s.width}Z`).attr('display', null);
        tip(chart, { x: Math.min(s.x + 12, w - 12), y: y + 4 }, s.n.up || opts.up || opts.alone ? title(s.n) : 'all', rows(s.n));
        if (speak) {
          say([title(s.n), ...rows(s.n).map(r => r.join(' '))].join(', '));
          stage.scrollTop = Math.min(stage.scrollTop, Math.max(0, y - ROW));
          if (y + 2 * ROW > stage.scrollTop + stage.clientHeight) stage.scrollTop = y + 2 * ROW - stage.clientHeight;
        }
      };
      const hide = () => { now = -1; ring.attr('display', 'none'); hideTip(); };
      const under = e => { const [x, y] = d3.pointer(e, chart.node()), d = Math.floor(y / ROW); return shown.findIndex(s => s.d === d && x >= s.x && x < s.x + s.width); };
      const zoom = i => {
        const n = shown[i].n;
        if (opts.up || opts.alone) { pick = key(n.f); redraw(); return; }
        focus = paths(n);
        pick = n.up ? key(n.f) : '';
        redraw();
        stage.querySelector('svg').focus({ preventScroll: true });
      };
      let touch = false, before = -1;
      chart.on('pointerdown', e => { touch = e.pointerType === 'touch'; before = now; })
        .on('pointermove', e => { if (e.pointerType === 'touch') return; const i = under(e); i >= 0 ? show(i) : hide(); })
        .on('pointerleave', e => { if (e.pointerType !== 'touch') hide(); }).on('blur', hide)
        .on('click', e => { const i = under(e); if (i < 0) return hide(); if (touch && i !== before) return show(i); hideTip(); zoom(i); })
        .on('focus', () => { if (now < 0 && shown.length && chart.node().matches(':focus-visible')) show(lift, true); })
        .on('keydown', e => {
          const s = shown[now], down = opts.up ? 'ArrowUp' : 'ArrowDown', up = opts.up ? 'ArrowDown' : 'ArrowUp';
          const beside = d => { const line = shown.map((t, i) => [t, i]).filter(([t]) => t.d === s.d).sort((a, b) => a[0].x - b[0].x), k = line.findIndex(([, i]) => i === now) + d; if (line[k]) show(line[k][1], true); };
          if (e.key === 'Escape') { hide(); if (focus) { focus = ''; pick = ''; redraw(); stage.querySelector('svg').focus(); } }
          else if (now < 0) { if (e.key.startsWith('Arrow')) show(lift, true); else return; }
          else if (e.key === down) { if (s.kids?.length) show(s.kids[0] + lift, true); else if (s.dim) show(now + 1, true); }
          else if (e.key === up) { const p = s.parent ? shown.indexOf(s.parent) : s.dim || opts.up ? now - 1 : lift - 1; if (p >= 0 && !(opts.up && !s.parent)) show(p, true); }
          else if (e.key === 'ArrowRight') beside(1);
          else if (e.key === 'ArrowLeft') beside(-1);
          else if (e.key === 'Enter' || e.key === ' ') zoom(now);
          else if (e.key === 'f') { if (s.n.up) { pick = key(s.n.f); redraw(); } }
          else return;
          e.preventDefault();
        });
    }
    function compiled() {
      if (!find) return null;
      try { return new RegExp(find); } catch { return null; }
    }

    // matched is the time of all calls whose names are searched for: of calls below one
    // another, the outermost counts.
    function matched(pattern) {
      const out = sides().map(() => 0);
      (function walk(n) {
        for (const k of n.kids.values()) {
          if (pattern.test(k.f.name)) k.of.forEach((v, s) => { out[s] += sum(v); });
          else walk(k);
        }
      })(root());
      return out;
    }

    function about(k) {
      detail.replaceChildren();
      const seen = k && around(root(), k);
      if (!seen) return;
      const d = d3.select(detail), n = seen.callees;
      d.append('h3').append('code').text(title(n));
      // All that the function spent, also on paths that are too small to be shown.
      const exact = n.f.totals.map((t, s) => [sides().length > 1 ? c.trees[sides()[s]].name : c.what,
        t ? `${amount(t[all ? 0 : 1])}, ${share(t[all ? 0 : 1], s)}` : 'too little to be kept']);
      const facts = some ? [...rows(n).filter(([k]) => k === 'at'), ...exact] : rows(n);
      d.append('p').text(facts.map(([a, b]) => `${a} ${b}`).join('; ') + '.');
      const line = d.append('p').attr('class', 'tools');
      line.append('button').attr('type', 'button').text('Copy name').on('click', () => copy(n.f.name));
      if (focus) line.append('button').attr('type', 'button').text('Copy path').on('click', () => copy(focus));
      line.append('button').attr('type', 'button').text('Copy pprof line')
        .on('click', () => copy(`go tool pprof -peek '^${n.f.name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/'/g, `'\\''`)}$' cpu.pprof`));
      line.append('button').attr('type', 'button').text('Close').on('click', () => { pick = ''; redraw(); });
      for (const [label, tree, up] of [['What calls it', seen.callers, true], ['What it calls', seen.callees, false]]) {
        const part = d.append('section').attr('aria-label', label);
        part.append('h4').text(label);
        if (!tree.kids.size) { part.append('p').text(up ? 'Nothing: it is the first call on its stacks.' : 'Nothing: the time is its own.'); continue; }
        icicle(part.append('div').attr('class', 'scroll calls').attr('tabindex', null).node(), tree, { up, alone: true, label });
      }
    }

    function redraw(typing) {
      save();
      marks.forEach(f => f());
      if (!typing) box.property('value', find);
      let bad = '';
      if (find) try { new RegExp(find); } catch (e) { bad = e.message; }
      box.attr('aria-invalid', bad ? 'true' : null);
      const pattern = compiled();
      found.text(bad || (pattern ? `matches ${some ? 'at least ' : ''}${matched(pattern).map((v, s) => `${share(v, s)} (${amount(v)})`).join(' and ')} of ${c.unit === 'bytes' ? 'all bytes' : 'CPU time'}` : ''));
      legend();
      stage.replaceChildren();
      const top = at(focus) || root();
      if (!value(top)) d3.select(stage).append('p').text('Nothing of that was sampled here.');
      else icicle(stage, top, { label: c.title });
      about(pick);
    }
    own.restore = () => { load(); redraw(); };
    redraw();
  };
})();
