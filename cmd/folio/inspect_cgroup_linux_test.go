package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/test/testenv"
)

// With --watch a cgroup is a line of JSON for each reading, with the change of each part since
// the first one.
func TestWatchCgroup(t *testing.T) {
	t.Parallel()
	c := newChild(t, "inspect", "--cgroup", "./group", "--watch=20ms", "--json", "-")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(c.path("group/"+name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stat := func(mib int) string {
		n := strconv.Itoa(mib << 20)
		return "anon 0\nfile " + n + "\nkernel 0\nshmem " + n + "\ninactive_anon " + n + "\nactive_anon 0\ninactive_file 0\nactive_file 0\nunevictable 0\n"
	}
	if err := os.Mkdir(c.path("group"), 0o700); err != nil {
		t.Fatal(err)
	}
	put("cgroup.procs", "")
	put("memory.current", "1073741824\n")
	put("memory.stat", stat(100))
	startInFile(t, c)
	readings := func() (all []result.Charge) {
		data, err := os.ReadFile(c.path("out"))
		if err != nil {
			t.Fatal(err)
		}
		for in := bufio.NewScanner(bytes.NewReader(data)); in.Scan(); {
			var f result.Charge
			if json.Unmarshal(in.Bytes(), &f) == nil { // the last line may not be whole
				all = append(all, f)
			}
		}
		return all
	}
	testenv.Eventually(t, "a reading", func() bool { return len(readings()) > 0 })
	put("memory.stat.new", stat(140))
	if err := os.Rename(c.path("group/memory.stat.new"), c.path("group/memory.stat")); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "40 MiB more", func() bool {
		all := readings()
		p := all[len(all)-1].Part("shared_unmapped")
		return p != nil && p.Bytes == 140<<20 && p.Change != nil && *p.Change == 40<<20
	})
	if p := readings()[0].Part("shared_unmapped"); p == nil || p.Bytes != 100<<20 || *p.Change != 0 {
		t.Errorf("%+v", p)
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	c.end(exitOK)
}
