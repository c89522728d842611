package diagnose

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/cgrouptest"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A box is a cgroup with a memory limit for programs.
type box struct {
	t     *testing.T
	exe   string
	group *cgroup.Group
}

func newBox(t *testing.T, exe string, mib uint64) *box {
	t.Helper()
	g := cgrouptest.WithMemory(t, mib<<20)
	return &box{t, exe, g}
}

// A boxed is a program in a box.
type boxed struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a program in the box, all of whose memory is charged there: a shell becomes it.
// It returns once the program has its live heap. It allocates like a service: at several GiB/s
// the runtime passes any limit now and then.
func (b *box) start(limit string, outside, live, garbage int) *boxed {
	b.t.Helper()
	cmd := exec.Command("sh", "-c", "read x; exec "+b.exe+fmt.Sprintf(" %d %d %d slowly", outside, live, garbage))
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT="+limit)
	in, out := testenv.Start(b.t, cmd)
	p := &boxed{cmd, in, out}
	b.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if err := b.group.Join(cmd.Process.Pid); err != nil {
		b.t.Fatal(err)
	}
	fmt.Fprintln(in)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		b.t.Fatalf("the program said %q: %v", line, err)
	}
	return p
}

// lives has the program allocate all of its garbage, and reports whether it was killed.
func (p *boxed) lives(t *testing.T) bool {
	t.Helper()
	fmt.Fprintln(p.in)
	line, _ := p.out.ReadString('\n')
	err := p.cmd.Wait()
	if killed := p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL; !killed && err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(line, "lived")
}

// doctor returns the finding of a rule on a process.
func doctor(t *testing.T, p *boxed, rule string) Finding {
	t.Helper()
	f, err := ReadFacts(context.Background(), procmem.New(""), &ReadOptions{PID: p.cmd.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range f.Diagnose().Findings {
		if h.Rule == rule {
			return h
		}
	}
	t.Fatalf("no %s: %+v", rule, f.Diagnose())
	return Finding{}
}

// advised is the number that a finding offers.
func advised(t *testing.T, h Finding) string {
	t.Helper()
	limit, ok := strings.CutPrefix(h.Fix[0].Code, "GOMEMLIMIT=")
	if !ok {
		t.Fatalf("no number: %+v", h)
	}
	t.Log(h.Fix[0].Do, limit)
	return limit
}

// The limit that is advised for a program in a container keeps it alive, and those that it is
// advised against do not.
func TestAdvisedLimitLives(t *testing.T) {
	exe := testenv.Build{Source: testenv.HungrySource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	const garbage = 300
	for _, c := range []struct {
		outside, live int
		limits        []string // that have the program killed in 192 MiB
	}{
		{70, 40, []string{"150MiB", "172MiB"}},
		{24, 60, []string{"192MiB", "190MiB"}}, // 100% and 99% of the container
	} {
		for _, limit := range c.limits {
			t.Run(fmt.Sprintf("%d outside, %s", c.outside, limit), func(t *testing.T) {
				b := newBox(t, exe, 192)
				p := b.start(limit, c.outside, c.live, garbage)
				h := doctor(t, p, "go-limit-above-container")
				if p.lives(t) {
					t.Errorf("it lives with %s: the test is of nothing", limit)
				}
				if h.Severity != Problem {
					t.Errorf("%+v", h)
				}
				if fits := advised(t, h); !b.start(fits, c.outside, c.live, garbage).lives(t) {
					t.Errorf("with the advised %s it is killed", fits)
				}
			})
		}
	}
	t.Run("no limit", func(t *testing.T) {
		b := newBox(t, exe, 192)
		p := b.start("off", 70, 40, garbage)
		fits := advised(t, doctor(t, p, "go-no-memory-limit"))
		if p.lives(t) {
			t.Error("it lives without a limit: the test is of nothing")
		}
		if !b.start(fits, 70, 40, garbage).lives(t) {
			t.Errorf("with the advised %s it is killed", fits)
		}
	})
	t.Run("a limit that fits", func(t *testing.T) {
		b := newBox(t, exe, 192)
		p := b.start("112MiB", 70, 40, garbage)
		f, err := ReadFacts(context.Background(), procmem.New(""), &ReadOptions{PID: p.cmd.Process.Pid})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range f.Diagnose().Findings {
			if strings.HasPrefix(h.Rule, "go-limit") || h.Rule == "go-no-memory-limit" {
				t.Errorf("found %+v", h)
			}
		}
		if !p.lives(t) {
			t.Error("it is killed")
		}
	})
}

// Two programs of one container share what there is.
func TestAdvisedLimitOfTwo(t *testing.T) {
	exe := testenv.Build{Source: testenv.HungrySource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	b := newBox(t, exe, 225)
	start := func(first, second string) (one, two *boxed) {
		return b.start(first, 0, 30, 300), b.start(second, 0, 30, 300)
	}
	both := func(one, two *boxed) bool {
		fmt.Fprintln(one.in) // at the same time
		alive := two.lives(t)
		line, _ := one.out.ReadString('\n')
		_ = one.cmd.Wait()
		return alive && strings.HasPrefix(line, "lived")
	}
	one, two := start("200MiB", "200MiB")
	first, second := doctor(t, one, "go-limit-above-container"), doctor(t, two, "go-limit-above-container")
	if !strings.Contains(first.Fix[0].Do, "shared by 2 Go programs") || !strings.Contains(first.Fix[0].Do, fmt.Sprintf("process %d (", two.cmd.Process.Pid)) {
		t.Errorf("%+v", first)
	}
	if both(one, two) {
		t.Error("both live: the test is of nothing")
	}
	one, two = start(advised(t, first), advised(t, second))
	if !both(one, two) {
		t.Error("with the advised limits one is killed")
	}
}

// What is in tmpfs leaves no room for any limit.
func TestNoLimitHelps(t *testing.T) {
	exe := testenv.Build{Source: testenv.HungrySource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	var st syscall.Statfs_t
	const shm, tmpfs = "/dev/shm", 0x01021994
	if err := syscall.Statfs(shm, &st); err != nil || st.Type != tmpfs {
		testenv.Missing(t, "%s is not a tmpfs: %v", shm, err)
	}
	b := newBox(t, exe, 300)
	dir, err := os.MkdirTemp(shm, "folio-test-")
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer os.RemoveAll(dir)
	// The one that writes is charged, and stays charged when it has ended.
	fill := exec.Command("sh", "-c", "read x; exec dd if=/dev/zero of="+filepath.Join(dir, "cache")+" bs=1M count=240 2>/dev/null")
	in, _ := testenv.Start(t, fill)
	if err := b.group.Join(fill.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in)
	if err := fill.Wait(); err != nil {
		t.Fatal(err)
	}
	p := b.start("270MiB", 0, 20, 1)
	h := doctor(t, p, "go-limit-above-container")
	if do := h.Fix[0].Do; !strings.HasPrefix(do, "No limit helps: 24") || !strings.Contains(do, "of 300.0MiB are elsewhere (240.0MiB tmpfs") || h.Fix[0].Code != listTmpfs {
		t.Errorf("%+v", h)
	}
}
