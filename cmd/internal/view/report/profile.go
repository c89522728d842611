package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// barWidth is the length of the bar of the whole CPU time where the width
// of the terminal is not known; else it takes what is left, within bounds.
const (
	barWidth          = 30
	leastBar, mostBar = 10, 60
	besideBar         = 2 + 3 + 1 + 6 + 2 + 8 // indent, mark, share, time
)

// removed lists the classes whose time a setting changed most, at most n.
func removed(base, with *result.Profile, n int) string {
	if !base.Shares() || !with.Shares() || min(base.Samples, with.Samples) < result.EnoughSamples {
		return ""
	}
	type change struct {
		class    result.ClassInfo
		from, to float64
	}
	total := 0.0
	for _, c := range base.Classes {
		total += c.Seconds
	}
	var all []change
	for _, c := range result.Classes {
		ch := change{c, base.Share(c.Class).Seconds, with.Share(c.Class).Seconds}
		if math.Abs(ch.to-ch.from) >= littleChange*total {
			all = append(all, ch)
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.to-a.from, b.to-b.from) })
	var out []string
	for _, c := range all[:min(n, len(all))] {
		out = append(out, fmt.Sprintf("%s %s -> %s", c.class.Title, unit.Seconds(c.from), unit.Seconds(c.to)))
	}
	return strings.Join(out, ", ")
}

// littleChange is the part of the CPU time below which a change of a class
// is not worth a word.
const littleChange = 0.01

// shares draws a bar for each class, in so many columns.
func shares(r *result.Profile, columns int) []string {
	width := 0
	for _, c := range r.Classes {
		width = max(width, utf8.RuneCountInString(c.Class.Info().Title))
	}
	long := barWidth
	if columns > 0 {
		long = max(leastBar, min(mostBar, columns-width-besideBar))
	}
	var out []string
	for _, c := range r.Classes {
		bar := strings.Repeat("█", int(c.Fraction*float64(long)+0.5))
		if bar == "" {
			bar = "▏"
		}
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(c.Class.Info().Title))
		mark := " "
		if c.Class.Info().Memory {
			mark = "*"
		}
		out = append(out, fmt.Sprintf("%s%s %s %s %6s  %s", c.Class.Info().Title, pad, mark, padRight(bar, long),
			unit.Percent(c.Fraction), unit.Seconds(c.Seconds)))
	}
	return out
}

func padRight(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}

// sites lists the call sites that pay the memory tax, one a line.
func sites(r *result.Profile) []string {
	var out []string
	for _, s := range r.Sites {
		out = append(out, fmt.Sprintf("%6s  %s  %s", unit.Percent(s.Fraction), s.Name(), s.Place()), "        "+classesOf(s))
	}
	return out
}

// classesOf lists what a site pays for, most first.
func classesOf(s result.Site) string {
	type part struct {
		class result.Class
		share float64
	}
	var parts []part
	for c, f := range s.Classes {
		parts = append(parts, part{c, f * s.Fraction})
	}
	slices.SortFunc(parts, func(a, b part) int {
		if a.share != b.share {
			if a.share > b.share {
				return -1
			}
			return 1
		}
		return strings.Compare(string(a.class), string(b.class))
	})
	var out []string
	for _, p := range parts {
		out = append(out, p.class.Info().Title+" "+unit.Percent(p.share))
	}
	return strings.Join(out, ", ")
}
