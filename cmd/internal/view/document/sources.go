package document

// A source is what somebody else published, on another machine. Its figures are
// drawn beside those that were measured, so that a reader can tell what is
// general from what is this machine.
type source struct {
	name    string // as in a legend
	machine string
	where   string
	series  []sourceSeries
}

// A sourceSeries is a line of a source's chart: y by x.
type sourceSeries struct {
	name  string
	color int
	shape int
	p     [][2]float64
}

const (
	mib = 1 << 20
	us  = 1e-6
)

// sourceFaults: the first table of the article, time to write a byte to each
// page, by MiB.
var sourceFaults = source{
	name: "Changkun Ou, 2021", machine: "Linux 5.8, 16 threads", where: "https://changkun.de/blog/posts/page-fault-vs-prefetch/",
	series: []sourceSeries{
		{"base pages", 2, 1, [][2]float64{{1 * mib, 157 * us}, {2 * mib, 315 * us}, {4 * mib, 638 * us},
			{8 * mib, 1310 * us}, {16 * mib, 2760 * us}, {32 * mib, 5940 * us}, {64 * mib, 12100 * us},
			{128 * mib, 23900 * us}, {256 * mib, 47400 * us}, {512 * mib, 94100 * us}, {1024 * mib, 187000 * us}}},
		{"MADV_HUGEPAGE", 1, 0, [][2]float64{{1 * mib, 156 * us}, {2 * mib, 315 * us}, {4 * mib, 403 * us},
			{8 * mib, 581 * us}, {16 * mib, 1000 * us}, {32 * mib, 2170 * us}, {64 * mib, 4450 * us},
			{128 * mib, 8920 * us}, {256 * mib, 18200 * us}, {512 * mib, 36600 * us}, {1024 * mib, 72200 * us}}},
	},
}

// perPage turns the time for a size into that for each page of 4 KiB, the pages
// of the source's machine.
func perPage(total [][2]float64) [][2]float64 {
	out := make([][2]float64, len(total))
	for i, p := range total {
		out[i] = [2]float64{p[0], p[1] / (p[0] / 4096)}
	}
	return out
}

// sourceMadvise: its second table, the same writes to new memory after the
// memory before was released by one of two calls.
var sourceMadvise = source{
	name: sourceFaults.name, machine: sourceFaults.machine, where: sourceFaults.where,
	series: []sourceSeries{
		{"huge, after DONTNEED", 1, 0, perPage([][2]float64{{1 * mib, 157 * us}, {2 * mib, 180 * us},
			{4 * mib, 172 * us}, {8 * mib, 351 * us}, {16 * mib, 753 * us}, {32 * mib, 1910 * us},
			{64 * mib, 4220 * us}, {128 * mib, 8650 * us}, {256 * mib, 17700 * us}, {512 * mib, 35700 * us}})},
		{"huge, after FREE", 3, 2, perPage([][2]float64{{1 * mib, 189 * us}, {2 * mib, 391 * us}, {4 * mib, 1640 * us},
			{8 * mib, 2840 * us}, {16 * mib, 3320 * us}, {32 * mib, 6300 * us}, {64 * mib, 12700 * us},
			{128 * mib, 25100 * us}, {256 * mib, 50700 * us}, {512 * mib, 101000 * us}})},
		{"base, after DONTNEED", 2, 1, perPage([][2]float64{{1 * mib, 157 * us}, {2 * mib, 317 * us},
			{4 * mib, 645 * us}, {8 * mib, 1310 * us}, {16 * mib, 2770 * us}, {32 * mib, 5920 * us},
			{64 * mib, 12400 * us}, {128 * mib, 25200 * us}, {256 * mib, 50700 * us}, {512 * mib, 102000 * us}})},
		{"base, after FREE", 4, 3, perPage([][2]float64{{1 * mib, 191 * us}, {2 * mib, 389 * us}, {4 * mib, 770 * us},
			{8 * mib, 1540 * us}, {16 * mib, 3080 * us}, {32 * mib, 6170 * us}, {64 * mib, 12300 * us},
			{128 * mib, 25000 * us}, {256 * mib, 50100 * us}, {512 * mib, 101000 * us}})},
	},
}

// sourceGoroutines and sourceGOGC: the figures in the text of the article; its
// charts have more, but no numbers.
var (
	sourceGoroutines = source{
		name: "Vlad Krasnov, 2017", machine: "24 cores, 48 threads, Go 1.9", where: "https://blog.cloudflare.com/go-dont-collect-my-garbage/",
		series: []sourceSeries{{"signing", 0, 5, [][2]float64{{1, 30618.50}, {2, 55966.40}, {4, 108731}, {17, 274622}, {48, 78940.67}}}},
	}
	sourceGOGC = source{
		name: sourceGoroutines.name, machine: sourceGoroutines.machine + ", 48 goroutines", where: sourceGoroutines.where,
		series: []sourceSeries{{"signing", 0, 5, [][2]float64{{100, 78940.67}, {2400, 671538.90}, {4800, 685810.90}, {11300, 691054}}}},
	}
)

// sourcePages: the article has ratios and the TLB of one processor, no times.
var sourcePages = source{name: "Evan Jones, Pages Are a Good Idea, 2023", machine: "Intel i5-1135G7"}

const (
	sourceTHPGain     = 2.9 // 2 MiB pages, independent reads of 4 GiB
	sourceGiBGain     = 3.1 // 1 GiB pages
	sourceGainAt      = 4 << 30
	zen4L1, zen4L2    = 72, 3072 // entries of the data TLB that it names
	smallPage, bigOne = 4 << 10, 2 << 20
)

// An armsSource is one whose figures are of ways to do something.
type armsSource struct {
	source
	arms []sourceArm
}

// A sourceArm is a row of bars of a source: its figures by key.
type sourceArm struct {
	name    string
	figures map[string]float64
}

func treesArm(name string, wall, user, system, megabytes, faults float64) sourceArm {
	return sourceArm{name, map[string]float64{"wall_seconds": wall, "user_seconds": user, "system_seconds": system,
		"peak_rss_bytes": megabytes * 1e6, "faults": faults}}
}

// sourceArenas: binary trees of depth 21, all four variants of the report.
var sourceArenas = armsSource{
	source{name: "golang/go issue 51667, 2022", machine: "AMD EPYC, 8 threads, depth 21", where: "https://go.dev/issue/51667"},
	[]sourceArm{
		treesArm("new", 5.12, 34.53, 5.50, 537, 76886),
		treesArm("Go arenas", 12.50, 20.80, 77.92, 750, 2334682),
		treesArm("Go arenas, cleared by 2MiB", 2.55, 19.34, 0.89, 765, 14492),
		treesArm("and unmapped from 8MiB on", 2.71, 20.11, 0.97, 312, 13980),
	},
}

// sourceAssist: the table of the report, medians of several runs that varied by up to 46%
// (96% for the last row).
var sourceAssist = armsSource{
	source{name: "golang/go issue 56966, 2022", machine: "CockroachDB, 95% reads, about 10,000 connections", where: "https://go.dev/issue/56966"},
	[]sourceArm{
		{"Go 1.17", map[string]float64{"p99_seconds": 0.0545}},
		{"Go 1.17, no assists", map[string]float64{"p99_seconds": 0.0025}},
		{"Go 1.19", map[string]float64{"p99_seconds": 0.0734}},
		{"Go 1.19, no assists", map[string]float64{"p99_seconds": 0.0039}},
	},
}

// draw returns the series of a source for a chart.
func (s source) draw(format func(float64) string, xText func(float64) string) []Series {
	var out []Series
	for _, r := range s.series {
		series := Series{Name: s.name + ": " + r.name, Color: r.color, Shape: r.shape, Line: true, Dash: true, Ref: true}
		for _, p := range r.p {
			series.P = append(series.P, Point{X: p[0], Y: p[1], Tip: [][2]string{{xText(p[0]), format(p[1])}, {"another machine", s.machine}}})
		}
		out = append(out, series)
	}
	return out
}

// caption says what the hollow marks are.
func (s source) caption() string {
	text := formatf("Hollow, dashed: from another machine (%s; %s)", s.name, s.machine)
	if s.where != "" {
		text += ", " + s.where
	}
	return text + "."
}

// table lists the source's figures for those who do not see the chart.
func (s source) table(xLabel, yLabel string, xText, yText func(float64) string) *Table {
	tb := &Table{Caption: formatf("From another machine: %s, %s", s.name, s.machine), Head: []Column{{Label: xLabel, Num: true}}}
	var xs []float64
	for _, r := range s.series {
		tb.Head = append(tb.Head, Column{Label: r.name + ", " + yLabel, Num: true})
		if len(r.p) > len(xs) {
			xs = nil
			for _, p := range r.p {
				xs = append(xs, p[0])
			}
		}
	}
	for _, x := range xs {
		row := Row{Cells: []Cell{num(xText(x), x)}}
		for _, r := range s.series {
			cell := plain("-")
			for _, p := range r.p {
				if p[0] == x {
					cell = num(yText(p[1]), p[1])
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		tb.Rows = append(tb.Rows, row)
	}
	return tb
}
