package document

import (
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// live is what a search did to a process as it ran: what each setting did, what was not tried or
// left, and every block over time.
func (t *tuned) live() []*Block {
	l := t.file.Live
	var out []*Block
	if len(l.Blocks) > 0 {
		out = append(out, t.perSecond())
	}
	if tb := notTriedTable(l); tb != nil {
		out = append(out, &Block{Key: true, Title: "Not tried, or dropped", Tables: []*Table{tb},
			Words: []string{formatf("Guardrails: RSS at most %s; %s", memoryRail(l), restored(l))}})
	}
	return append(out, t.blocks())
}

func memoryRail(l *result.Live) string {
	if b := l.Guardrails.MemoryBytes; b != nil {
		return unit.Size(*b) + " (" + l.Guardrails.Memory + ")"
	}
	return l.Guardrails.Memory
}

func restored(l *result.Live) string {
	if !l.Restored {
		return "the settings were not restored: the process has ended, or set its own."
	}
	return "the settings from before were restored."
}

// notTriedTable lists settings that were not tried, and blocks that were left; nil for none.
func notTriedTable(l *result.Live) *Table {
	tb := &Table{Head: []Column{{Label: "setting"}, {Label: "why"}}, Wrap: true}
	for _, n := range l.NotTried {
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{code(n.Setting), plain("not tried: " + n.Reason)}})
	}
	for _, b := range l.Blocks {
		if b.Left != "" {
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{code(b.Setting), plain(formatf("dropped after %s: %s", unit.Seconds(b.End-b.Start), b.Left))}})
		}
	}
	if len(tb.Rows) == 0 {
		return nil
	}
	return tb
}

// order are the settings in the order of the answer, then those that were left.
func (t *tuned) order() (names []string) {
	for _, a := range t.ranked() {
		names = append(names, a.Name)
	}
	for i := range t.arms {
		if !slices.Contains(names, t.arms[i].Name) {
			names = append(names, t.arms[i].Name)
		}
	}
	return names
}

// perSecond lists what each setting did, by medians of its blocks.
func (t *tuned) perSecond() *Block {
	type figure struct {
		label string
		of    func(b *result.LiveBlock) (float64, bool)
		text  func(float64) string
	}
	per := func(v, by *float64) (float64, bool) {
		if v == nil || by == nil || !(*by > 0) {
			return 0, false
		}
		return *v / *by, true
	}
	second := func(b *result.LiveBlock, v *float64) (float64, bool) { return per(v, new(b.Seconds())) }
	at := func(v *float64) (float64, bool) { return per(v, new(1.0)) }
	figures := []figure{
		{"CPUs", func(b *result.LiveBlock) (float64, bool) { return second(b, b.CPU) }, cpus},
		{"GC, CPUs", func(b *result.LiveBlock) (float64, bool) { return second(b, b.GCCPU) }, cpus},
		{"GCs/s", func(b *result.LiveBlock) (float64, bool) { return second(b, number(b.GCCycles)) }, unit.Rate},
		{"allocated/s", func(b *result.LiveBlock) (float64, bool) { return second(b, number(b.Allocated)) }, unit.Bytes},
		{"requests/s", func(b *result.LiveBlock) (float64, bool) { return second(b, b.Requests) }, unit.Rate},
		{"failed", func(b *result.LiveBlock) (float64, bool) { return per(b.Errors, b.Requests) }, unit.Percent},
		{"p50", func(b *result.LiveBlock) (float64, bool) { return at(b.P50) }, unit.Seconds},
		{"p99", func(b *result.LiveBlock) (float64, bool) { return at(b.P99) }, unit.Seconds},
		{"peak RSS", func(b *result.LiveBlock) (float64, bool) { return at(number(b.PeakRSS)) }, unit.Bytes},
	}
	tb := &Table{Caption: "Medians of blocks, as measured: the load may have changed in between", Head: cols("setting", "blocks")}
	for _, f := range figures {
		tb.Head = append(tb.Head, Column{Label: f.label, Num: true})
	}
	for _, name := range t.order() {
		n, values := 0, make([][]float64, len(figures))
		for i := range t.file.Live.Blocks {
			b := &t.file.Live.Blocks[i]
			if b.Setting != name || b.CPU == nil {
				continue
			}
			n++
			for j, f := range figures {
				if v, ok := f.of(b); ok {
					values[j] = append(values[j], v)
				}
			}
		}
		row := Row{Cells: []Cell{code(name), num(itoa(n), float64(n))}}
		for j, f := range figures {
			cell := plain("")
			if len(values[j]) > 0 {
				m := stat.Median(values[j])
				cell = num(f.text(m), m)
			}
			row.Cells = append(row.Cells, cell)
		}
		tb.Rows = append(tb.Rows, row)
	}
	tb.dropEmpty()
	return &Block{Title: "What each setting did", Tables: []*Table{tb},
		Words: []string{"GC, CPUs: by the runtime's clock, which includes GC workers waiting for a CPU, and leaves out sweeping and write barriers."}}
}

func cpus(v float64) string { return formatf("%.2f", v) }

func number(v *uint64) *float64 {
	if v == nil {
		return nil
	}
	return new(float64(*v))
}

// value is what a block shows of the metric, as the axis has it.
func (t *tuned) value(b *result.LiveBlock) (float64, bool) {
	var v, by *float64
	switch t.of.spec.Name {
	case result.MetricCPUPerGiB:
		if v = b.CPU; b.Allocated != nil {
			by = new(float64(*b.Allocated) / (1 << 30))
		}
	case result.MetricCPUPerRequest:
		v, by = b.CPU, b.Requests
	case result.MetricP50:
		v, by = b.P50, new(1.0)
	case result.MetricP99:
		v, by = b.P99, new(1.0)
	}
	if v == nil || by == nil || !(*by > 0) {
		return 0, false
	}
	return *v / *by, true
}

// blocks draws every block over the load, the heap and RSS.
func (t *tuned) blocks() *Block {
	l := t.file.Live
	b := &Block{Title: "Every block over time"}
	line := &l.Timeline
	if x := l.Before; x.Windows > 0 {
		b.Words = []string{formatf("Before any change the GC took at most %s of CPU time (%s to %s in %s of %s): the runtime counts waits for a CPU as well.", unit.Percent(x.GC),
			unit.Percent(x.Lo), unit.Percent(x.Hi), unit.Plural(x.Windows, "window"), unit.Seconds(x.Seconds/float64(x.Windows)))}
	}
	if len(line.Seconds) < 2 || !line.Valid() {
		return b
	}
	c := &Chart{Kind: Time, Title: "Blocks, load, heap and RSS over time", Partly: true,
		Caption: "Drag to zoom. A block is drawn from when it counts, after the first GC cycles under its setting.",
		X:       Axis{Label: "seconds since the start", Format: Seconds}, End: line.Seconds[len(line.Seconds)-1]}
	values := Lane{Label: t.of.label() + " of each block", Format: Seconds}
	tb := &Table{Caption: "Every block, in order", Head: cols("setting", "from", "for", t.of.label(), "peak RSS")}
	for i, name := range t.order() {
		s := LaneSeries{Name: name, Kind: "line", Color: []int{7, 2, 1, 3, 4, 5, 6}[i%7], Area: true, Step: true, X: []float64{0}, Y: []float64{0}}
		for j := range l.Blocks {
			block := &l.Blocks[j]
			if v, ok := t.value(block); ok && block.Setting == name && block.Counted >= s.X[len(s.X)-1] && block.End > block.Counted {
				s.X, s.Y = append(s.X, block.Counted, block.End), append(s.Y, v, 0)
				c.End = max(c.End, block.End)
			}
		}
		if len(s.X) > 1 {
			s.X, s.Y = rounded(s.X), rounded(s.Y)
			values.Series = append(values.Series, s)
		}
	}
	for j := range l.Blocks {
		block := &l.Blocks[j]
		row := Row{Cells: []Cell{code(block.Setting), num(unit.Seconds(block.Counted), block.Counted), num(unit.Seconds(block.Seconds()), block.Seconds()), plain(unit.None), plain(unit.None)}}
		if v, ok := t.value(block); ok {
			row.Cells[3] = num(t.of.text(v), v)
		}
		if rss := block.PeakRSS; rss != nil {
			row.Cells[4] = size(*rss)
		}
		tb.Rows = append(tb.Rows, row)
	}
	if len(values.Series) > 0 {
		c.Lanes = append(c.Lanes, values)
	}
	at := rounded(line.Seconds)
	load := rateLane("load: allocated a second", LaneSeries{Name: "allocated a second", Color: 5, X: at, Y: floats(line.Allocated)})
	load.Format = Bytes
	c.Lanes = append(c.Lanes, Lane{Label: "memory", Format: Bytes, Series: []LaneSeries{
		{Name: "RSS", Kind: "line", Color: 1, Area: true, X: at, Y: rounded(floats(line.RSS))},
		{Name: "heap, with garbage", Kind: "line", Color: 2, X: at, Y: rounded(floats(line.Heap))},
		{Name: "live heap", Kind: "line", Color: 4, Dash: true, X: at, Y: rounded(floats(line.Live))},
	}}, load)
	if slices.Max(append(line.Requests, 0)) > 0 {
		c.Lanes = append(c.Lanes, rateLane("load: requests a second", LaneSeries{Name: "requests a second", Color: 6, X: at, Y: line.Requests}))
	}
	c.Lanes = append(c.Lanes, rateLane("CPUs in use", LaneSeries{Name: "CPUs in use", Color: 3, X: at, Y: line.CPU}))
	if math.IsNaN(c.End) || math.IsInf(c.End, 0) || !(c.End > 0) || at[0] < 0 {
		return b
	}
	b.Charts, b.Fold = []*Chart{c}, true
	if len(tb.Rows) > 0 {
		b.Tables = []*Table{tb}
	}
	return b
}
