package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/internal/console"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/tune"
)

// A plot is as wide as the terminal has room for, within these; wider ones are
// no easier to read.
const (
	plotWidth    = 56 // where the width is not known
	leastPlot    = 32
	mostPlot     = 96
	plotHeight   = 12
	widestLegend = 34 // a longer legend stands below the plot
)

// plotRoom returns how wide a plot may be in so many columns, beside a margin and
// a legend, or above the legend where there is no room for both.
func plotRoom(columns, margin int, front []*tune.Arm) (width int, below bool) {
	if columns <= 0 {
		return plotWidth, false
	}
	beside := 0
	for i := range front {
		beside = max(beside, utf8.RuneCountInString(legend(front, i)))
	}
	room := columns - margin - 2
	if w := room - beside - 2; beside <= widestLegend && w >= leastPlot {
		return min(w, mostPlot), false
	}
	return max(min(room, mostPlot), leastPlot), true
}

// plot draws the metric against peak memory, both on a log scale. Arms on the Pareto front are
// letters, listed beside the plot in the order of their memory; the others are
// dots. Better is down and to the left; when more is better, up and to the left.
// The metric is evened, as the front goes by it: by medians as measured, a letter
// could stand where a dot beats it.
func (t *Tune) plot(front []*tune.Arm) []string {
	r := t.Result
	type point struct {
		x, y float64
		mark rune
	}
	var points []point
	samples := make([][]*trial.Sample, len(r.Arms))
	for i, a := range r.Arms {
		samples[i] = a.Samples
	}
	evened := NewTarget(r.Objective, r.Benchmarks).Evened(samples...)
	for i, a := range r.Arms {
		x, y := r.Memory(a), evened[i]
		if math.IsNaN(x) || math.IsNaN(y) || x <= 0 || y <= 0 || a.Status == tune.Failed {
			continue
		}
		mark := '·'
		if i := slices.Index(front, a); i >= 0 {
			mark = letter(i)
		}
		points = append(points, point{math.Log(x), math.Log(y), mark})
	}
	xs, ys := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		xs[i], ys[i] = p.x, p.y
	}
	x0, x1 := slices.Min(xs), slices.Max(xs)
	y0, y1 := slices.Min(ys), slices.Max(ys)
	top, bottom := Metric(r.Objective, math.Exp(y1)), Metric(r.Objective, math.Exp(y0))
	margin := max(len([]rune(top)), len([]rune(bottom)))
	width, below := plotRoom(t.Width, margin, front)
	var grid [plotHeight][]rune
	for y := range grid {
		grid[y] = []rune(strings.Repeat(" ", width))
	}
	// Dots first, so that a letter is never hidden by one.
	slices.SortStableFunc(points, func(a, b point) int {
		return btoi(a.mark != '·') - btoi(b.mark != '·')
	})
	for _, p := range points {
		x := place(p.x, x0, x1, width)
		y := plotHeight - 1 - place(p.y, y0, y1, plotHeight)
		for x+1 < width && grid[y][x] != ' ' && grid[y][x] != '·' {
			x++ // two letters in one place: side by side
		}
		grid[y][x] = p.mark
	}
	var out []string
	for y := range grid {
		label := ""
		switch y {
		case 0:
			label = top
		case plotHeight - 1:
			label = bottom
		}
		line := fmt.Sprintf("%*s │%s", margin, label, string(grid[y]))
		if y < len(front) && !below {
			line += "  " + legend(front, y)
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	for y := plotHeight; y < len(front) && !below; y++ {
		out = append(out, strings.Repeat(" ", margin+2+width+2)+legend(front, y))
	}
	out = append(out, strings.Repeat(" ", margin+1)+"└"+strings.Repeat("─", width))
	left, right := Bytes(math.Exp(x0)), Bytes(math.Exp(x1))
	axis := t.label() + ", evened, against peak RSS (log)"
	gap := width - len(left) - len(right) - len(axis)
	if gap < 2 { // a line of its own
		out = append(out, strings.Repeat(" ", margin+2)+left+pad(width-len(left)-len(right))+right, strings.Repeat(" ", margin+2)+axis)
	} else {
		out = append(out, strings.Repeat(" ", margin+2)+left+pad(gap/2)+axis+pad(gap-gap/2)+right)
	}
	for y := 0; y < len(front) && below; y++ {
		out = append(out, strings.Repeat(" ", margin+2)+legend(front, y))
	}
	return out
}

func legend(front []*tune.Arm, i int) string {
	return string(letter(i)) + " " + console.Line(front[i].Name)
}

func letter(i int) rune {
	if i < 26 {
		return rune('A' + i)
	}
	return '+'
}

// place puts v of [lo, hi] into one of n cells.
func place(v, lo, hi float64, n int) int {
	if hi <= lo {
		return 0
	}
	return min(int((v-lo)/(hi-lo)*float64(n)), n-1)
}

func pad(n int) string { return strings.Repeat(" ", max(n, 1)) }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
