package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/result"
)

// briefGolden checks the answer of a run, which fits on a screen; what is to be pasted may be
// longer than a line.
const screenLines, screenColumns = 24, 80

func briefGolden(t *testing.T, f *result.File, name string) {
	t.Helper()
	var b bytes.Buffer
	if err := show(&b, f, Options{Width: screenColumns}); err != nil {
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
