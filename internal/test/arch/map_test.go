package arch

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

var update = flag.Bool("update", false, "write what packages import into docs/architecture.md")

const mapFile = "../../../docs/architecture.md"

// row is a package in the map: its path, what it is, what it imports of this module.
var row = regexp.MustCompile("(?m)^\\| `([a-z/0-9]+)` \\| (.*) \\| ([^|]*) \\|$")

// The map in docs/architecture.md has every package, and what it imports on Linux.
func TestMap(t *testing.T) {
	testenv.Alone(t)
	imports := make(map[string]string)
	for _, p := range list(t, "./...") {
		name := short(p.ImportPath)
		if layer(name) < 0 || strings.Contains(name, "/internal/") || slices.Contains(unmapped, name) {
			continue
		}
		var own []string
		for _, i := range p.Imports {
			if strings.HasPrefix(i, module+"/") && !strings.Contains(short(i), name+"/internal/") {
				own = append(own, path.Base(i))
			}
		}
		slices.Sort(own)
		imports[name] = strings.Join(own, ", ")
		if own == nil {
			imports[name] = "-"
		}
	}
	imports["cmd/folio"] = "all below"
	imports["internal/test/arch"] = "-"
	data, err := os.ReadFile(mapFile)
	if err != nil {
		t.Fatal(err)
	}
	section, _, _ := bytes.Cut(data, []byte("## Where to find a behaviour"))
	seen := make(map[string]bool)
	drawn := row.ReplaceAllFunc(section, func(line []byte) []byte {
		m := row.FindSubmatch(line)
		name := string(m[1])
		if want, ok := imports[name]; ok {
			seen[name] = true
			return fmt.Appendf(nil, "| `%s` | %s | %s |", name, m[2], want)
		}
		t.Errorf("the map has %s, which is not a package", name)
		return line
	})
	for name := range imports {
		if !seen[name] {
			t.Errorf("the map lacks %s", name)
		}
	}
	if bytes.Equal(drawn, section) {
		return
	}
	if *update {
		if err := os.WriteFile(mapFile, append(drawn, data[len(section):]...), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("docs/architecture.md says of some package that it imports something else (-update writes it)")
}

// unmapped are parts of a package that stands in the map.
var unmapped = []string{"internal/program/launch/killtest", "internal/program/codepatch/fixture"}

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
		if !bytes.Contains(data, []byte("### `internal/"+e.Name()+"`: ")) {
			t.Errorf("internal/%s is not in docs/architecture.md", e.Name())
		}
	}
	if len(entries) > most {
		t.Errorf("internal/ has %d rooms: at most %d", len(entries), most)
	}
}
