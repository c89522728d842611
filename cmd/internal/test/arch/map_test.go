package arch

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

const mapFile = "../../../../docs/architecture.md"

// row is a package in the map: its path, and what it is.
var row = regexp.MustCompile("(?m)^\\| `([a-z/0-9]+)` \\| .* \\|$")

// The map in docs/architecture.md has every package once.
func TestMap(t *testing.T) {
	testenv.Alone(t)
	data, err := os.ReadFile(mapFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]int)
	for _, m := range row.FindAllSubmatch(data, -1) {
		rows[string(m[1])]++
	}
	for _, p := range list(t, packages...) {
		name := short(p.ImportPath)
		if room(name) < 0 || strings.HasPrefix(name, "cmd/bench/") || slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(name, part) }) {
			continue
		}
		if rows[name] != 1 {
			t.Errorf("the map has %s %d times", name, rows[name])
		}
		delete(rows, name)
	}
	for name := range rows {
		if slices.ContainsFunc(roomless, func(r string) bool { return strings.HasPrefix(name, r) }) {
			continue
		}
		t.Errorf("the map has %s, which is not a package", name)
	}
}

// parts are parts of a package that stands in the map.
var parts = []string{"/launch/killtest", "/codepatch/fixture", "/codepatch/forms", "arenavet/internal/flow"}

// A newcomer finds his room: there are few, and each directory is one.
func TestRooms(t *testing.T) {
	const most = 10
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(mapFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !bytes.Contains(data, []byte("### `cmd/internal/"+e.Name()+"`: ")) {
			t.Errorf("cmd/internal/%s is not in docs/architecture.md", e.Name())
		}
	}
	if len(entries) > most {
		t.Errorf("cmd/internal/ has %d rooms: at most %d", len(entries), most)
	}
}
