package arch

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

var (
	fence    = regexp.MustCompile("(?ms)^```.*?^```")
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Links of the documentation to its own files, and to headings in them, lead somewhere.
func TestLinks(t *testing.T) {
	testenv.Alone(t)
	const root = "../../../../"
	text := make(map[string]string)
	for _, f := range tracked(t, "*.md") {
		data, err := os.ReadFile(root + f)
		if err != nil {
			t.Fatal(err)
		}
		text[f] = fence.ReplaceAllString(string(data), "")
	}
	n := 0
	for f, s := range text {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(s, ""), -1) {
			if strings.Contains(m[1], ":") { // https:, mailto:
				continue
			}
			n++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := f
			if file != "" {
				to = path.Join(path.Dir(f), file)
			}
			if _, err := os.Stat(root + to); err != nil {
				t.Errorf("%s: link to %s: %v", f, m[1], err)
			} else if md, ok := text[to]; ok && anchor != "" && !anchors(md)[anchor] {
				t.Errorf("%s: link to %s: %s has no such heading", f, m[1], to)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d links found", n)
	}
}

// anchors are those of the headings of a Markdown file, as code hosts make them.
func anchors(md string) map[string]bool {
	seen := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(md, -1) {
		s := linkText.ReplaceAllString(m[1], "$1")
		s = strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(s), ""), " ", "-")
		a := s
		for i := 1; seen[a]; i++ {
			a = fmt.Sprintf("%s-%d", s, i)
		}
		seen[a] = true
	}
	return seen
}
