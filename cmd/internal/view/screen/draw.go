package screen

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Styles of the terminal: folio's own, put around what is escaped already.
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	red   = "\x1b[31m"
	plain = "\x1b[m"
)

func styled(style, text string) string { return style + text + plain }

// cut shortens a line to a width.
func cut(line string, width int) string {
	r := []rune(line)
	switch {
	case len(r) <= width:
		return line
	case width < 1:
		return ""
	}
	return string(r[:width-1]) + "…"
}

// eighths fill a cell from the left.
var eighths = []rune(" ▏▎▍▌▋▊▉█")

// bar is a share of 1, at most as many columns wide.
func bar(share float64, columns int) string {
	n := int(min(max(share, 0), 1)*float64(columns)*8 + 0.5)
	if n == 0 && share > 0 {
		n = 1
	}
	text := strings.Repeat("█", n/8)
	if n%8 > 0 {
		text += string(eighths[n%8])
	}
	return text
}

// full is the share of a limit from which on it is drawn in red.
const full = 0.9

// gauge is a share of a limit in a bar of fixed width.
func gauge(share float64, columns int) string {
	in := bar(share, columns)
	out := strings.Repeat("░", columns-len([]rune(in)))
	text := " " + unit.Percent(share)
	if share >= full {
		return styled(red, in) + out + styled(red, text)
	}
	return in + out + text
}

// levels fill a cell from the foot.
var levels = []rune("▁▂▃▄▅▆▇█")

// sparkline draws RSS over time, from its least to its most; "" with less than two
// readings.
func sparkline(o *result.OverTime, width int) string {
	if o == nil || len(o.RSS) < 2 {
		return ""
	}
	least, most := slices.Min(o.RSS), slices.Max(o.RSS)
	begin := "RSS over time, " + unit.Size(least) + " "
	end := " " + unit.Size(most)
	columns := min(width-len(begin)-len(end), 100)
	if columns < 8 {
		return ""
	}
	n := len(o.RSS)
	var b strings.Builder
	for c := range min(columns, n) {
		from, to := c*n/min(columns, n), (c+1)*n/min(columns, n)
		v := slices.Max(o.RSS[from:max(to, from+1)])
		level := 0
		if most > least {
			level = int(float64(v-least) / float64(most-least) * float64(len(levels)-1))
		}
		b.WriteRune(levels[level])
	}
	return begin + b.String() + end
}
