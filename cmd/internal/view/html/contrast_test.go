package html

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// contrast has what the tests of contrast share: over puts a color on another, and
// faintIn lists the texts of an element with a contrast below 4.5:1 (WCAG 1.4.3), by what
// is drawn: opacities of all elements around a text, backgrounds of those below it, in a
// chart the areas that it stands on.
const contrast = `
const rgba = text => {
	const srgb = text.match(/^color\(srgb ([^)]*)\)/);
	if (srgb) return srgb[1].split(/[ /]+/).map((v, i) => i < 3 ? v * 255 : Number(v)).concat(1).slice(0, 4);
	const m = text.match(/rgba?\(([^)]*)\)/);
	if (!m) return text === 'none' || text === '' ? [0, 0, 0, 0] : null;
	const v = m[1].split(/[ ,/]+/).map(Number);
	return [v[0], v[1], v[2], v[3] ?? 1];
};
const over = (top, alpha, under) => under.map((u, i) => top[i] * top[3] * alpha + u * (1 - top[3] * alpha));
const luminance = c => {
	const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const opacity = e => { let o = 1; for (; e; e = e.parentElement) o *= Number(getComputedStyle(e).opacity); return o; };
const below = e => {
	const chain = [];
	for (; e; e = e.parentElement) if (!(e instanceof SVGElement) || e.tagName === 'svg') chain.unshift(e);
	return chain.reduce((c, e) => over(rgba(getComputedStyle(e).backgroundColor), opacity(e), c), [255, 255, 255]);
};
// areas puts what a chart has drawn before a text, where the text stands, on its ground.
const areas = (t, ground) => {
	const svg = t.ownerSVGElement, box = t.getBoundingClientRect(), out = [];
	for (const share of [0.1, 0.5, 0.9]) {
		let c = ground;
		for (const e of svg.querySelectorAll('rect, path')) {
			if (!(e.compareDocumentPosition(t) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
			const style = getComputedStyle(e), fill = rgba(style.fill), point = svg.createSVGPoint();
			if (!fill || fill[3] === 0 || style.display === 'none' || e.closest('clipPath') || !e.getScreenCTM()) continue;
			point.x = box.left + share * box.width;
			point.y = box.top + box.height / 2;
			if (e.isPointInFill(point.matrixTransform(e.getScreenCTM().inverse()))) c = over(fill, Number(style.fillOpacity) * opacity(e), c);
		}
		out.push(c);
	}
	return out;
};
const faintIn = root => {
	const out = [];
	const judge = (e, style, text, grounds) => {
		const own = rgba(e instanceof SVGElement ? style.fill : style.color);
		// A text with a border of the page's color stands on that.
		if (e instanceof SVGElement && style.paintOrder.startsWith('stroke') && parseFloat(style.strokeWidth) >= 3) grounds = [rgba(style.stroke).slice(0, 3)];
		for (const g of grounds) {
			const r = own ? ratio(over(own, opacity(e), g), g) : 0;
			if (r < 4.5) { out.push(r.toFixed(2) + ' instead of 4.5: ' + e.tagName + '.' + (e.getAttribute('class') || '') + ': ' + text.trim().slice(0, 60)); break; }
		}
	};
	for (const e of [root, ...root.querySelectorAll('*')]) {
		if (e.closest('script, style, title, :disabled') || !e.checkVisibility({ visibilityProperty: true })) continue;
		const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.data).join('');
		const svg = e instanceof SVGElement;
		if (text.trim()) judge(e, getComputedStyle(e), text, svg ? areas(e, below(e)) : [below(e)]);
		if (!svg) for (const which of ['::before', '::after']) {
			const style = getComputedStyle(e, which);
			if (/^["a]/.test(style.content) && style.content !== '""' && style.display !== 'none') judge(e, style, which + style.content, [below(e)]);
		}
	}
	return out;
};
`

// faint lists the texts of a page that are hard to read.
const faint = `(() => {` + contrast + `return faintIn(document.body); })()`

// inks draws a text on each color of charts, as bars have it.
const inks = `(() => {` + contrast + `
	const svg = d3.select(document.querySelector('main')).append('svg').attr('width', 800).attr('height', 400).attr('id', 'inks'), faded = [];
	for (let i = 0; i < 10; i++) for (const light of ['', ' light1', ' light2', ' light3']) {
		const x = 200 * (light ? +light.slice(-1) : 0), y = i * 40;
		svg.append('rect').attr('class', 'mark bar c' + i + light).attr('x', x).attr('y', y).attr('width', 180).attr('height', 30);
		svg.append('text').attr('class', 'inside c' + i + (light ? ' onlight' : '')).attr('x', x + 20).attr('y', y + 20).text('c' + i + light);
	}
	// What is drawn is seen on the page, by its fill or by its border (WCAG 1.4.11).
	const ground = below(svg.node());
	svg.selectAll('rect').each(function () {
		const style = getComputedStyle(this), seen = Math.max(ratio(over(rgba(style.fill), Number(style.fillOpacity), ground), ground),
			style.stroke === 'none' ? 0 : ratio(over(rgba(style.stroke), 1, ground), ground));
		if (seen < 3) faded.push(seen.toFixed(2) + ' instead of 3: ' + this.getAttribute('class'));
	});
	const out = faintIn(svg.node()), texts = svg.selectAll('text').size(), grounds = new Set(svg.selectAll('text').nodes().map(t => String(areas(t, below(t))[1])));
	svg.remove();
	return [texts, grounds.size, ...out, ...faded].map(String);
})()`

// Every color that charts have is seen on the page, and texts can be read on it, in both themes,
// and printed.
func TestInks(t *testing.T) {
	testenv.Long(t)
	b := open(t, pageOf(t, resulttest.Tune(8, "./prog")), 1280, 900)
	for _, media := range []string{"screen", "print"} {
		for _, theme := range []string{"light", "dark"} {
			if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media,
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}); err != nil {
				t.Fatal(err)
			}
			got := eval[[]string](b, inks)
			if len(got) < 2 || got[0] != "40" || got[1] != "40" {
				t.Fatalf("%s, %s: %q texts on %q colors, want 40", media, theme, got[0], got[1])
			}
			for _, text := range got[2:] {
				t.Errorf("%s, %s: %s", media, theme, text)
			}
		}
	}
}

// The test of contrast finds what is hard to read.
func TestFaint(t *testing.T) {
	testenv.Long(t)
	b := open(t, pageOf(t, resulttest.Run(1)), 1280, 900)
	if got := eval[[]string](b, faint); len(got) > 0 {
		t.Errorf("%q", got)
	}
	got := eval[[]string](b, `(() => {`+contrast+`
		const svg = d3.select(document.querySelector('main')).append('svg');
		svg.append('rect').attr('class', 'mark bar c3').attr('width', 100).attr('height', 30);
		svg.append('text').attr('class', 'value').attr('x', 10).attr('y', 20).text('white on green').node().style.setProperty('fill', '#fff');
		return faintIn(svg.node());
	})()`)
	if len(got) != 1 {
		t.Errorf("white on green: %q", got)
	}
}

// overlaps lists the pairs of texts of a chart that stand on each other.
const overlaps = `[...document.querySelectorAll('.chart svg:not([aria-hidden])')].flatMap(svg => {
	const texts = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()]).filter(([, b]) => b.width > 0), out = [];
	texts.forEach(([t, a], i) => texts.slice(i + 1).forEach(([o, b]) => {
		const x = Math.min(a.right, b.right) - Math.max(a.left, b.left), y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
		if (x > 0.5 && y > 2.5) out.push(svg.closest('.chart').id + ': "' + t.textContent + '" and "' + o.textContent + '" by ' + x.toFixed(0) + 'x' + y.toFixed(0)); // boxes have room above and below letters
	}));
	return out;
})`

// small lists what is to be clicked or touched and is smaller than 24 pixels (WCAG 2.5.8);
// links within sentences may be.
const small = `[...document.querySelectorAll('button, summary, a, [tabindex="0"], input, select')].filter(e => e.checkVisibility() && !e.matches('.skip') && !(e.matches('a') && getComputedStyle(e).display === 'inline' && e.parentNode.matches('p')))
	.map(e => [e, e.getBoundingClientRect()]).filter(([, b]) => b.width < 23.9 || b.height < 23.9)
	.map(([e, b]) => e.tagName + '.' + e.className + ' ' + b.width.toFixed(1) + 'x' + b.height.toFixed(1) + ': ' + e.textContent.trim().slice(0, 40))`

// Texts of a chart do not stand on each other, and what is to be touched is large enough,
// on every page.
func TestLayout(t *testing.T) {
	testenv.FullOnly(t)
	all := everyPage(t)
	for name, page := range fitPages(t) {
		all["long names: "+name] = page
	}
	for name, page := range all {
		t.Run(name, func(t *testing.T) {
			b := open(t, page, 1440, 900)
			eval[int](b, `(document.querySelectorAll('details').forEach(d => { d.open = true; }), document.querySelector('button.show')?.click(), 1)`)
			for _, width := range []int64{1440, 390} {
				b.do(chromedp.EmulateViewport(width, 900))
				b.settled(width)
				for _, text := range append(eval[[]string](b, overlaps), eval[[]string](b, small)...) {
					t.Errorf("at width %d: %s", width, text)
				}
				b.keep(fmt.Sprintf("layout-%s-%d.png", name, width))
			}
		})
	}
}
