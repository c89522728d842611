package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
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
func plotRoom(columns, margin int, front []*result.Arm) (width int, below bool) {
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

// frontOf returns the arms of the final that no other beats in both metric and memory,
// least memory first.
func frontOf(f *result.File) []*result.Arm {
	var out []*result.Arm
	for i := range f.Arms {
		if a := &f.Arms[i]; a.Final != nil && a.Final.Front && a.Final.Memory != nil {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b *result.Arm) int { return cmp.Compare(*a.Final.Memory, *b.Final.Memory) })
	return out
}

// Place returns where an arm stands in a picture of metric and memory: adjusted for
// drift, of one that left early about. ok is false where that is not known.
func Place(a *result.Arm) (x, y float64, ok bool) {
	switch {
	case a.Status == string(result.StatusFailed):
	case a.Final != nil && a.Final.Memory != nil:
		x, y = *a.Final.Memory, a.Final.Adjusted
	case a.Left != nil:
		x, y = a.PeakMemory().Median, a.Left.About
	}
	return x, y, x > 0 && y > 0 && !math.IsInf(x, 0) && !math.IsInf(y, 0)
}

// Marks of the plot but for letters.
const (
	finalist  = 'o'
	leftEarly = '·'
)

// plot draws the metric against peak memory, both on a log scale. Arms on the Pareto front are
// letters, listed beside the plot in the order of their memory. Better is down and to
// the left; when more is better, up and to the left.
func (t *Tune) plot(front []*result.Arm) []string {
	type point struct {
		x, y float64
		mark rune
	}
	var points []point
	spec := t.File.Metric.Spec()
	for i := range t.File.Arms {
		a := &t.File.Arms[i]
		x, y, ok := Place(a)
		if !ok {
			continue
		}
		mark := leftEarly
		if a.Final != nil {
			mark = finalist
		}
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
	top, bottom := Metric(spec, math.Exp(y1)), Metric(spec, math.Exp(y0))
	margin := max(len([]rune(top)), len([]rune(bottom)))
	width, below := plotRoom(t.Width, margin, front)
	var grid [plotHeight][]rune
	for y := range grid {
		grid[y] = []rune(strings.Repeat(" ", width))
	}
	// Letters last, so that none is hidden.
	order := map[rune]int{leftEarly: -2, finalist: -1}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(order[a.mark], order[b.mark]) })
	for _, p := range points {
		x := cell(p.x, x0, x1, width)
		y := plotHeight - 1 - cell(p.y, y0, y1, plotHeight)
		for x+1 < width && unicode.IsLetter(grid[y][x]) && grid[y][x] != finalist {
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
	left, right := unit.Bytes(math.Exp(x0)), unit.Bytes(math.Exp(x1))
	axis := t.label() + ", adjusted, vs peak RSS (log scale)"
	gap := width - len(left) - len(right) - len(axis)
	if gap < 2 { // a line of its own
		out = append(out, strings.Repeat(" ", margin+2)+left+pad(width-len(left)-len(right))+right, strings.Repeat(" ", margin+2)+axis)
	} else {
		out = append(out, strings.Repeat(" ", margin+2)+left+pad(gap/2)+axis+pad(gap-gap/2)+right)
	}
	if slices.ContainsFunc(points, func(p point) bool { return p.mark == leftEarly }) {
		out = append(out, strings.Repeat(" ", margin+2)+"o in the final, · left early (approximate)")
	}
	for y := 0; y < len(front) && below; y++ {
		out = append(out, strings.Repeat(" ", margin+2)+legend(front, y))
	}
	return out
}

func legend(front []*result.Arm, i int) string {
	return string(letter(i)) + " " + console.Line(front[i].Name)
}

func letter(i int) rune {
	if i < 26 {
		return rune('A' + i)
	}
	return '+'
}

// cell puts v of [lo, hi] into one of n cells.
func cell(v, lo, hi float64, n int) int {
	if hi <= lo {
		return 0
	}
	return min(int((v-lo)/(hi-lo)*float64(n)), n-1)
}

func pad(n int) string { return strings.Repeat(" ", max(n, 1)) }
