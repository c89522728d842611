package arch

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// oldWords are words that are not the field's, each with the one to use.
var oldWords = []struct{ old, say string }{
	{`processor[ -](time|seconds)`, "CPU time, CPU-seconds"},
	{`(the|its) collector|collector's`, "the GC, the GC's"},
	{`(an?|the|each|every|one|two|of|by|from|between|last|next|no|first|whole|many) collections?`, "GC cycle, GC"},
	{`(given|gave|giving|gives?) (memory |them |it |windows |free pages )?back`, "released, returned to the OS"},
	{`evened`, "adjusted for drift"},
	{`(is|are) no (file|number|package|profile|program|release|revision|terminal|variable)s?`, "is not a file, number, ..."},
	{`who pays`, "the call sites that pay, a profile"},
	{`nobody listens`, "connection refused"},
	{`worth having`, "significant, or a figure"},
	{`folio advise`, "folio suggest"},
	{`--(higher|mem)\b`, "--higher-is-better, --max-rss"},
}

// otherSense are places where such words mean something else.
var otherSense = []string{
	"cmd/internal/test/arch/words_test.go",
	"cmd/internal/trial/profile/",           // its Collector collects samples
	"cmd/folio/root.go:give",                // time
	"cmd/internal/program/overlay/patches/", // a patch's name has a hash of its text
}

// Everything that a person reads (help, messages, pages, docs, comments) uses the field's
// own words, one for each concept.
func TestWords(t *testing.T) {
	testenv.Alone(t)
	files := tracked(t, "*.go", "*.md", "*.txtar", "*.txt", "*.html", "*.js", "*.json", "*.patch", "cmd/bench", ".ci")
	if len(files) < 500 {
		t.Fatalf("only %d files", len(files))
	}
	var words []string
	for _, w := range oldWords {
		words = append(words, w.old)
	}
	// Each file is searched once, and by line only where a word is in it.
	any := phrase(strings.Join(words, "|"))
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join("../../../..", f))
		if err != nil {
			t.Fatal(err)
		}
		if !any.Match(data) {
			continue
		}
		for _, w := range oldWords {
			re := phrase(w.old)
			for i, l := range bytes.Split(data, []byte("\n")) {
				m := re.FindSubmatch(l)
				if m == nil || slices.ContainsFunc(otherSense,
					func(o string) bool { return strings.HasPrefix(f+":"+strings.ToLower(string(m[2])), o) }) {
					continue
				}
				t.Errorf("%s:%d: %q: say %s", f, i+1, m[2], w.say)
			}
		}
	}
}

// tracked are the files of the repository that match patterns of git, from its root.
func tracked(t *testing.T, patterns ...string) []string {
	list := exec.Command("git", append([]string{"ls-files", "-z", "--"}, patterns...)...)
	list.Dir = "../../../.."
	out, err := list.Output()
	if err != nil {
		testenv.Missing(t, "git ls-files: %v", err)
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
}

// phrase finds an expression that stands for itself, in text of any number of lines.
func phrase(expr string) *regexp.Regexp {
	return regexp.MustCompile(`(?im)(^|[^-\w])(` + expr + `)($|[^-\w])`)
}
