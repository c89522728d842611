// Package unit formats and parses sizes, durations, percentages, counts and ratios.
// Every text, page and log of Folio uses it: a kind of quantity has one format.
package unit

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// None stands in tables for what was not measured.
const None = "-"

// A factor is a prefix and what one of it is.
type factor struct {
	of     float64
	prefix string
}

var decimal = []factor{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}}

var binary = []factor{{1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}, {1, ""}}

// scale prints four significant digits and a prefix, as benchstat does.
func scale(v float64, factors []factor) string {
	size := math.Abs(v)
	if size == 0 {
		return "0"
	}
	last := factors[len(factors)-1]
	for _, f := range factors {
		if size < .99995*f.of {
			continue
		}
		precision := 3
		switch {
		case size >= 99.995*f.of:
			precision = 1
		case size >= 9.9995*f.of:
			precision = 2
		}
		return strconv.FormatFloat(v/f.of, 'f', precision, 64) + f.prefix
	}
	precision := 4
	for least := .099995; size < least*last.of && precision < 10; least /= 10 {
		precision++
	}
	return strconv.FormatFloat(v/last.of, 'f', precision, 64) + last.prefix
}

// finite says that v can be printed as a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Seconds prints a time in seconds: "1.213s", "41.20ms", "0s".
func Seconds(v float64) string {
	if !finite(v) {
		return None
	}
	return scale(v, decimal) + "s"
}

// Duration prints a time that was measured, as Seconds does.
func Duration(d time.Duration) string { return Seconds(d.Seconds()) }

// Bytes prints a size: "48.20MiB", "0B".
func Bytes(v float64) string {
	if !finite(v) {
		return None
	}
	return scale(v, binary) + "B"
}

// An Integer is any type of whole numbers that sizes and counts have.
type Integer interface {
	~int | ~int64 | ~uint | ~uint64 | ~uintptr
}

// Size prints a size in whole bytes, as Bytes does.
func Size[T Integer](n T) string { return Bytes(float64(n)) }

// Number prints a whole number with thousands apart: "76,886".
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	least := 1
	if n < 0 {
		least = 2
	}
	for i := len(s) - 3; i >= least; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count prints a figure that counts things, rounded to a whole number.
func Count(v float64) string {
	if !finite(v) {
		return None
	}
	return Number(int64(math.Round(v)))
}

// Plural returns a number with the noun that it counts, in the singular for one: "1 process".
func Plural(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return Number(int64(n)) + " " + noun
}

// Enumerate joins words: "a, b and c".
func Enumerate(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// Rate prints how often something happens in a second, without the unit: whole numbers
// from 10 on, "2.5" below.
func Rate(v float64) string {
	if finite(v) && math.Abs(v) < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return Count(v)
}

// Scaled prints a number without a unit: "1.250k".
func Scaled(v float64) string {
	if !finite(v) {
		return None
	}
	return scale(v, decimal)
}

// Percent prints a share, of which 1 is all: "14.2%".
func Percent(v float64) string {
	if !finite(v) {
		return None
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + "%"
}

// Change prints a ratio of two figures as a difference: "+25.0%" for 1.25, and whole
// percentages from twice on: "+155%".
func Change(ratio float64) string {
	switch {
	case !finite(ratio):
		return None
	case ratio >= 2:
		return signed(100*(ratio-1), 0)
	}
	return signed(100*(ratio-1), 1)
}

func signed(v float64, precision int) string {
	s := strconv.FormatFloat(v, 'f', precision, 64)
	if !strings.HasPrefix(s, "-") {
		s = "+" + s
	}
	return s + "%"
}

// Ratio prints how many times one figure is another: "1.53x", "12x".
func Ratio(v float64) string {
	switch {
	case !finite(v):
		return None
	case math.Abs(v) >= 9.995:
		return strconv.FormatFloat(v, 'f', 0, 64) + "x"
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + "x"
}

// Spread prints half the width of an interval, relative to its middle and rounded up:
// "± 3%".
func Spread(relative float64) string {
	return "± " + strconv.FormatFloat(math.Ceil(100*relative), 'f', 0, 64) + "%"
}
