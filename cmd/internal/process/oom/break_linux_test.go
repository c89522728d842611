package oom

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/test/testenv"
)

// dumpStacks has goroutines written by f while a test runs, when the waterfall of the process
// is saved: that is written beside them.
func (s *saver) dumpStacks(t *testing.T, f func(context.Context, *inspect.Watcher, io.Writer) error) {
	t.Helper()
	before := stackDump
	t.Cleanup(func() { stackDump = before })
	stackDump.write = func(ctx context.Context, p *inspect.Watcher, w io.Writer) error {
		if !testenv.Within(func() bool {
			there, _ := filepath.Glob(filepath.Join(s.Save, "oom-*", fmt.Sprintf("%d.json", p.PID())))
			return len(there) > 0
		}) {
			t.Error("no waterfall is saved")
		}
		return f(ctx, p, w)
	}
}

// after is a context that calls f when it is asked for the n-th time whether it is done.
type after struct {
	context.Context
	n int
	f func()
}

func (a *after) Err() error {
	if a.n--; a.n == 0 {
		a.f()
	}
	return a.Context.Err()
}

// left is what is in the one save of a directory, by the names of the files.
func left(t *testing.T, save string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for name, text := range contents(t, save) {
		if strings.Contains(name, unfinished) {
			t.Errorf("%s is left", name)
		}
		out[filepath.Base(name)] = text
	}
	return out
}

// What a kill cuts off is kept, and does not look whole.
func TestOOMCut(t *testing.T) {
	cmd := exec.Command(testenv.Build{Source: testenv.MetricsSource(), Env: []string{"CGO_ENABLED=0"}}.Do(t))
	in, out := testenv.Start(t, cmd) // it has a thousand goroutines, which are read in parts
	defer in.Close()
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	s := newSaver(t, pid, t.TempDir())
	s.dumpStacks(t, func(ctx context.Context, p *inspect.Watcher, w io.Writer) error {
		return p.WriteGoroutines(&after{ctx, 2, func() {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait()
		}}, w)
	})
	_, errs := s.short(t)
	whole, cut := fmt.Sprintf("%d.goroutines.txt", pid), fmt.Sprintf("%d.goroutines.cut.txt", pid)
	files := left(t, s.Save)
	want := []string{cut, fmt.Sprintf("%d.json", pid), "saved.txt", "summary.txt"}
	delete(files, fmt.Sprintf("%d.heap.pb.gz", pid))
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q: %s", got, want, errs)
	}
	var read, not int
	if _, err := fmt.Sscanf(files[cut], "cut off: %d goroutines read, %d not: ", &read, &not); err != nil || read < 400 || read > 512 || not < 400 {
		t.Errorf("%d, %d, %v: %.200s", read, not, err, files[cut])
	}
	for name, text := range map[string]string{"saved.txt": files["saved.txt"], "stderr": errs} {
		if !strings.Contains(text, whole+": cut off: ") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if len(s.saves) != 1 || s.saves[0].whole {
		t.Errorf("%+v", s.saves)
	}
}

// TERM while it saves: nothing half is left, and no list, for not all was saved.
func TestOOMInterruptedSave(t *testing.T) {
	pid := sleeper(t)
	s := newSaver(t, pid, t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	s.dumpStacks(t, func(ctx context.Context, _ *inspect.Watcher, w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		stop()
		return ctx.Err()
	})
	if err := s.save(ctx, s.event()); err != nil {
		t.Fatal(err)
	}
	files := left(t, s.Save)
	if files["summary.txt"] == "" || files[fmt.Sprintf("%d.json", pid)] == "" || files["saved.txt"] != "" || files[fmt.Sprintf("%d.goroutines.txt", pid)] != "" {
		t.Errorf("%q are left", slices.Sorted(maps.Keys(files)))
	}
}

// A process that ends before it is saved: what there is of the other is whole.
func TestOOMOneEnded(t *testing.T) {
	s := newSaver(t, sleeper(t), t.TempDir())
	gone := testenv.Role(t, "sleeper")
	in, out := testenv.Start(t, gone)
	defer in.Close()
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p := s.sys.Watch(gone.Process.Pid, inspect.Options{Once: true})
	if _, err := p.Look(); err != nil {
		t.Fatal(err)
	}
	s.opened = append(s.opened, p)
	if err := gone.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = gone.Wait()
	_, errs := s.short(t)
	files := left(t, s.Save)
	for name := range files {
		if strings.HasPrefix(name, fmt.Sprint(p.PID())) {
			t.Errorf("%s is saved of a process that has ended", name)
		}
	}
	if name := fmt.Sprintf("%d.json", p.PID()); !strings.Contains(errs, "not saved: ") || !strings.Contains(errs, name+": ") || !strings.Contains(files["saved.txt"], name+": ") {
		t.Errorf("%s\n%s", errs, files["saved.txt"])
	}
	for _, name := range []string{"json", "goroutines.txt"} {
		if name = fmt.Sprintf("%d.%s", s.pid, name); files[name] == "" || !strings.Contains(files["saved.txt"], "  "+name+"  ") {
			t.Errorf("%s is not whole: %s", name, files["saved.txt"])
		}
	}
}
