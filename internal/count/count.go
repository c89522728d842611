// Package count prints numbers of things: "1 process", "12,345 page faults".
package count

import (
	"strconv"
	"strings"
)

// Of returns a number with the noun that it counts, in the singular for one.
func Of(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return Number(int64(n)) + " " + noun
}

// Number returns a number with its thousands apart.
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
