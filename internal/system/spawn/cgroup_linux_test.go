package spawn

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A group is a cgroup of version 2, without limits.
type group struct {
	dir     string
	err     error  // of what
	failing string // Join, Enter or Dir
}

func (g *group) fail(what string) error {
	if g.failing == what {
		return g.err
	}
	return nil
}

func (g *group) Join(pid int) error {
	if err := g.fail("Join"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

func (g *group) Enter(int) (func(), error) { return func() {}, g.fail("Enter") }

func (g *group) Dir() (*os.File, error) {
	if err := g.fail("Dir"); err != nil {
		return nil, err
	}
	return os.Open(g.dir)
}

func newGroup(t *testing.T) *group {
	t.Helper()
	own, err := procmem.FS{}.CgroupDir(0, "no such controller") // so that it is of version 2
	if err == nil && !own.Unified {
		err = errors.New("not of version 2")
	}
	if err != nil {
		testenv.Missing(t, "cgroups of version 2: %v", err)
	}
	dir := filepath.Join(own.Path, fmt.Sprintf("spawn-test-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		testenv.Missing(t, "%v", err)
	}
	t.Cleanup(func() {
		// A process leaves its cgroup a moment after it was reaped.
		testenv.Eventually(t, "the cgroup is empty", func() bool { return os.Remove(dir) == nil })
	})
	return &group{dir: dir}
}

// A program is in its cgroup from its exec on, in every way to start it.
func TestCgroup(t *testing.T) {
	needStub(t)
	g := newGroup(t)
	for way, prepare := range ways {
		p := &Program{Path: "/bin/cat", Argv: []string{"cat", "/proc/self/cgroup"}, Files: null(), Cgroup: g}
		text, ws, _ := output(t, p, prepare)
		if want := "/" + filepath.Base(g.dir) + "\n"; !ws.Exited() || !strings.HasSuffix(text, want) {
			t.Errorf("%s: it was in %q (%v)", way, text, ws)
		}
	}
	for _, c := range []struct{ way, failing string }{{"stub", "Join"}, {"fork", "Enter"}, {"fork", "Dir"}} {
		bad := &group{dir: g.dir, failing: c.failing, err: errors.New("no room")}
		p := &Program{Path: "/bin/true", Argv: []string{"true"}, Files: null(), Cgroup: bad}
		proc, err := ways[c.way](p)
		if err == nil {
			_, err = proc.Start()
		}
		if !errors.Is(err, bad.err) {
			t.Errorf("%s of %s fails: %v", c.failing, c.way, err)
		}
	}
	checkNoneLeft(t)
}
