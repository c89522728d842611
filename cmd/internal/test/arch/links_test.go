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

var (
	goCommand = regexp.MustCompile("go (?:run|build|install|test|doc) [^`\n]*")
	ownPath   = regexp.MustCompile(`(?:^| )\./((?:cmd|bench|examples|fleet|internal|arenavet)/[a-z0-9/_-]+)\b`)
)

// What commands of the go command in documents build is there: from the root, or of the fleet.
func TestPathsOfCommands(t *testing.T) {
	testenv.Alone(t)
	const root = "../../../../"
	n := 0
	for _, f := range tracked(t, "docs/lab-notes/*.md", "docs/*.md", "README.md", "CONTRIBUTING.md") {
		data, err := os.ReadFile(root + f)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, command := range goCommand.FindAllString(text, -1) {
			for _, m := range ownPath.FindAllStringSubmatch(command, -1) {
				n++
				_, err := os.Stat(root + m[1])
				if err != nil && strings.Contains(text, "cmd/fleet") {
					_, err = os.Stat(root + "cmd/fleet/" + m[1])
				}
				if err != nil {
					t.Errorf("%s: %s: %v", f, command, err)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d paths found", n)
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
