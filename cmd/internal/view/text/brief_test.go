package text

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/document"
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

// What warns of a further answer is said with it, and what explains it is left to --full.
func TestFurtherAnswerWarns(t *testing.T) {
	d := &document.Document{Sections: []*document.Section{{Answers: []document.Answer{
		{Main: true, Text: "Set GOGC=400."},
		{Goal: "Cheaper", Text: "Set GOMEMLIMIT=41MiB.", Brief: "It fits this input.", Detail: "It fits this input. Why it is so."},
	}}}}
	for _, full := range []bool{false, true} {
		var b bytes.Buffer
		if err := Render(&b, d, Options{Full: full}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "It fits this input.") || strings.Contains(b.String(), "Why it is so.") != full {
			t.Errorf("full %v:\n%s", full, &b)
		}
	}
}
