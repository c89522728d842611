package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestColumnsOfHostileNames: what a terminal would obey is written out, and the columns
// stay where they are.
func TestColumnsOfHostileNames(t *testing.T) {
	tb := &table{left: map[int]bool{0: true}}
	for _, name := range []string{"plain", "\x1b[2J\a", "\u202eevil", "two\nlines\tand a tab", "cut \xff", "µs ± 日"} {
		tb.add(name, "12.5%", "end")
	}
	var b strings.Builder
	if err := tb.write(&b, "  "); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 6 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	for _, l := range lines {
		if strings.ContainsAny(l, "\x1b\a\u202e\t") || !utf8.ValidString(l) {
			t.Errorf("%q is obeyed", l)
		}
		if at, want := strings.Index(string(ascii(l)), "12.5%"), strings.Index(lines[0], "12.5%"); at != want {
			t.Errorf("%q: the second column is at %d, want %d", l, at, want)
		}
	}
}

// ascii has one byte for each character.
func ascii(s string) (out []byte) {
	for _, r := range s {
		out = append(out, byte(min(r, '?')))
	}
	return out
}
