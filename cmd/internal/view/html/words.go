package html

import (
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/base/figure"
)

// upper makes the first letter of a sentence upper case.
func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return strings.ToUpper(string(r)) + s[n:]
}

// axisFormat is the format of an axis for a figure.
func axisFormat(key string) string {
	if k := figure.KindOf(key); k != figure.Rate {
		return string(k)
	}
	return Count
}

func join(words []string) string { return strings.Join(words, ", ") }

// isDetail says that a sentence belongs to the one before: the lab sets such
// ones in.
func isDetail(s string) bool { return strings.HasPrefix(s, "  ") }
