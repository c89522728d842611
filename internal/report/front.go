package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/tune"
)

const (
	plotWidth  = 56
	plotHeight = 12
)

// plot draws the metric against peak memory, both on a log scale. Arms on the Pareto front are
// letters, listed beside the plot in the order of their memory; the others are
// dots. Better is down and to the left; when more is better, up and to the left.
func (t *Tune) plot(front []*tune.Arm) []string {
	r := t.Result
	type point struct {
		x, y float64
		mark rune
	}
	var points []point
	for _, a := range r.Arms {
		x, y := r.Memory(a), stat.Median(r.Values(a))
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
	var grid [plotHeight][plotWidth]rune
	for y := range grid {
		for x := range grid[y] {
			grid[y][x] = ' '
		}
	}
	// Dots first, so that a letter is never hidden by one.
	slices.SortStableFunc(points, func(a, b point) int {
		return btoi(a.mark != '·') - btoi(b.mark != '·')
	})
	for _, p := range points {
		x := place(p.x, x0, x1, plotWidth)
		y := plotHeight - 1 - place(p.y, y0, y1, plotHeight)
		for x+1 < plotWidth && grid[y][x] != ' ' && grid[y][x] != '·' {
			x++ // two letters in one place: side by side
		}
		grid[y][x] = p.mark
	}
	top, bottom := Metric(r.Objective, math.Exp(y1)), Metric(r.Objective, math.Exp(y0))
	margin := max(len([]rune(top)), len([]rune(bottom)))
	var out []string
	for y := range grid {
		label := ""
		switch y {
		case 0:
			label = top
		case plotHeight - 1:
			label = bottom
		}
		line := fmt.Sprintf("%*s │%s", margin, label, string(grid[y][:]))
		if y < len(front) && y < plotHeight {
			line += "  " + legend(front, y)
		}
		out = append(out, strings.TrimRight(line, " "))
	}
	for y := plotHeight; y < len(front); y++ {
		out = append(out, strings.Repeat(" ", margin+2+plotWidth+2)+legend(front, y))
	}
	out = append(out, strings.Repeat(" ", margin+1)+"└"+strings.Repeat("─", plotWidth))
	left, right := Bytes(math.Exp(x0)), Bytes(math.Exp(x1))
	axis := t.label() + " against peak RSS (log, log)"
	gap := plotWidth - len(left) - len(right) - len(axis)
	out = append(out, strings.Repeat(" ", margin+2)+left+pad(gap/2)+axis+pad(gap-gap/2)+right)
	return out
}

func legend(front []*tune.Arm, i int) string { return string(letter(i)) + " " + front[i].Name }

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
