package console

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks text into lines of at most width columns, the first behind first,
// the others behind rest. Words are never broken.
func Wrap(first, rest, text string, width int) []string {
	var out []string
	line, empty := first, true
	for _, word := range strings.Fields(Escape(text)) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out = append(out, strings.TrimRight(line, " "))
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return append(out, strings.TrimRight(line, " "))
}
