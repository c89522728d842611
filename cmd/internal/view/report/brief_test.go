package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/result"
)

// briefGolden checks the answer of a run, which fits on a screen; what is to be pasted may be
// longer than a line.
func briefGolden(t *testing.T, f *result.File, name string) {
	t.Helper()
	var b bytes.Buffer
	if err := Program(&b, f, TextOptions{Brief: true, Width: 200}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) > screenLines {
		t.Errorf("got %d lines, want at most %d:\n%s", len(lines), screenLines, &b)
	}
	for i, l := range lines {
		if utf8.RuneCountInString(l) > screenColumns && i > 1 && !strings.HasPrefix(l, "  folio ") {
			t.Errorf("got %d columns, want at most %d: %q", utf8.RuneCountInString(l), screenColumns, l)
		}
	}
	golden(t, "brief-"+name+".txt", b.Bytes())
}

func TestClipped(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"   1.0%  short  x.go:1", "   1.0%  short  x.go:1"},
		{"   1.0%  example.com/a/long/path.Name  x.go:1", "   1.0%  examp....Name  x.go:1"},
	} {
		if got := clipped(tt.line, 30); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
