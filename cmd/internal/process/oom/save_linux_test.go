package oom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/shortage"
	"github.com/foliomem/folio/internal/test/testenv"
)

// saver is a watcher of a process that has begun, whose shortages a test makes up.
type saver struct {
	*watcher
	out, errs bytes.Buffer
	at        time.Time
}

// newWatcher is a watcher of nothing yet.
func newWatcher(save string, stdout, stderr io.Writer) *watcher {
	o := Options{Save: save, Stdout: console.New(stdout), Stderr: console.New(stderr), JSON: func(p *inspect.Process) ([]byte, []string, error) {
		data, err := json.MarshalIndent(p, "", "  ")
		return append(data, '\n'), p.Notes, err
	}}
	return &watcher{Options: o, fs: procmem.FS{}, sys: inspect.New()}
}

func newSaver(t *testing.T, pid int, save string) *saver {
	t.Helper()
	s := &saver{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	s.watcher = newWatcher(save, &s.out, &s.errs)
	s.pid = pid
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// short has it save, and returns what it said.
func (s *saver) short(t *testing.T) (stdout, stderr string) {
	t.Helper()
	s.out.Reset()
	s.errs.Reset()
	if err := s.save(t.Context(), s.event()); err != nil {
		t.Fatal(err)
	}
	return s.out.String(), s.errs.String()
}

// event is the next shortage.
func (s *saver) event() shortage.Event {
	s.at = s.at.Add(time.Second)
	return shortage.Event{At: s.at, Use: 96 << 20, Usage: 97 << 20, Limit: 100 << 20, Group: "/g"}
}

// contents are the files below a directory; of an empty directory that.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			if in, err := os.ReadDir(path); err != nil || len(in) > 0 {
				return err
			}
			out[name] = "empty"
			return nil
		}
		data, err := os.ReadFile(path)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The last saves are kept, and nothing else that is there is touched.
func TestOOMKeepsLast(t *testing.T) {
	save := t.TempDir()
	other := filepath.Join(save, "oom-1-20250102T030405.000Z")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	s := newSaver(t, sleeper(t), save)
	s.close() // only the summary, which is fast
	var dirs []string
	for i := range mostSaves + 5 {
		out, errs := s.short(t)
		dirs = append(dirs, strings.TrimSuffix(out, "\n"))
		if i == 7 { // somebody takes one away
			if err := os.RemoveAll(dirs[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(errs, ": saved summary in ") || strings.Contains(errs, "not saved") {
			t.Fatalf("%q, %q", out, errs)
		}
	}
	want := append([]string{other}, dirs[5:]...)
	want = slices.DeleteFunc(want, func(d string) bool { return d == dirs[7] })
	got, err := filepath.Glob(filepath.Join(save, "*"))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q is left, want %q, %v", got, want, err)
	}
}

// Where the disk is full, one line says so for each reason, what was saved before stays, and
// there is nothing half; when it has room again, saves go on.
func TestOOMFullDisk(t *testing.T) {
	save := t.TempDir()
	if err := unix.Mount("tmpfs", save, "tmpfs", 0, "size=512k"); err != nil {
		testenv.Missing(t, "mount a small tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(save, 0); err != nil {
			t.Error(err)
		}
	})
	s := newSaver(t, sleeper(t), save)
	whole := make(map[string]string)
	partly := 0
	full := false
	for i := range 6 {
		out, errs := s.short(t)
		now := contents(t, save)
		for name, text := range whole {
			if now[name] != text {
				t.Fatalf("save %d: %s is lost", i, name)
			}
		}
		for name, text := range now {
			if text == "" || text == "empty" || strings.Contains(name, unfinished) || strings.HasSuffix(name, ".json") && !strings.HasSuffix(text, "}\n") {
				t.Fatalf("save %d: %s is left: %q", i, name, text)
			}
		}
		if !full && !strings.Contains(errs, "not saved") {
			whole = now
			if i == 1 { // of the next one the summary fits, and nothing of those after it
				fill(t, filepath.Join(save, "filler"), 4096)
				whole = contents(t, save)
			}
			continue
		}
		full = true
		if !strings.Contains(errs, "not saved: ") || !strings.HasSuffix(errs, ": no space left on device\n") || strings.Count(errs, "\n") != 2 {
			t.Fatalf("%q", errs)
		}
		if nothing := strings.Contains(errs, ": nothing was saved in "); nothing != (out == "") {
			t.Errorf("%q, %q", out, errs)
		} else if !nothing {
			partly++
		}
	}
	if !full || partly != 1 {
		t.Errorf("%d saves were partly there, want 1; full: %v", partly, full)
	}
	if err := os.Remove(filepath.Join(save, "filler")); err != nil {
		t.Fatal(err)
	}
	if out, errs := s.short(t); out == "" || strings.Contains(errs, "not saved") {
		t.Errorf("with room again: %q", errs)
	}
}

// fill writes a file, so that so many bytes are left.
func fill(t *testing.T, path string, leave int) {
	t.Helper()
	free, ok := scratch.Free(filepath.Dir(path))
	if !ok || free < uint64(leave) {
		t.Fatalf("%d bytes are free", free)
	}
	if err := os.WriteFile(path, make([]byte, int(free)-leave), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Saves that miss something do not take the place of whole ones, and are bounded, too.
func TestOOMForget(t *testing.T) {
	o := &watcher{}
	count := func() (whole, partly int) {
		for _, s := range o.saves {
			if s.whole {
				whole++
			} else {
				partly++
			}
		}
		return whole, partly
	}
	dir := t.TempDir()
	for i := range 100 {
		whole := i < mostSaves || i >= 50
		o.saves = append(o.saves, kept{filepath.Join(dir, strconv.Itoa(i)), whole})
		if err := os.Mkdir(o.saves[len(o.saves)-1].dir, 0o700); err != nil {
			t.Fatal(err)
		}
		o.forget()
		w, p := count()
		if last := o.saves[len(o.saves)-1].dir; filepath.Base(last) != strconv.Itoa(i) {
			t.Fatalf("save %d is gone at once", i)
		}
		if w != min(i+1, mostSaves) && i < 50 || p > 1 || w+p > mostSaves+1 {
			t.Fatalf("save %d: %d whole, %d partly", i, w, p)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != mostSaves {
		t.Errorf("%d are left, %v", len(left), err)
	}
}

// What takes a millisecond is not behind what takes hundreds: the kill may come first.
func TestOOMOrder(t *testing.T) {
	two := []int{sleeper(t), sleeper(t)}
	o := &watcher{pid: two[0]}
	for _, pid := range two {
		o.opened = append(o.opened, inspect.New().Watch(pid, inspect.Options{Once: true}))
	}
	t.Cleanup(o.close)
	var mu sync.Mutex
	var got, stacks []string // those are put beside the others
	o.saveAll(t.Context(), shortage.Event{}, func(name, what string, _ func(io.Writer) error) {
		mu.Lock()
		defer mu.Unlock()
		if what == stackDump.name {
			if len(got) < 1+len(two) {
				t.Errorf("%s is put when there are %q", name, got)
			}
			stacks = append(stacks, name)
			return
		}
		got = append(got, name)
	})
	got = append(got, stacks...)
	want := []string{"summary.txt"}
	for _, name := range []string{"heap.pb.gz", "json", "goroutines.txt"} {
		for _, pid := range two {
			want = append(want, fmt.Sprintf("%d.%s", pid, name))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// halfway is a watcher that is killed while it writes the goroutines of a process, when the
// rest is saved.
func halfway() error {
	id, save := os.Getenv("OOM_TEST_PID"), os.Getenv("OOM_TEST_SAVE")
	stackDump.write = func(_ context.Context, _ *inspect.Watcher, w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		err := testenv.Await("the waterfall, which is written beside it", func() bool {
			there, _ := filepath.Glob(filepath.Join(escapeGlob(save), "oom-*", id+".json"))
			return len(there) > 0
		})
		return errors.Join(err, unix.Kill(os.Getpid(), unix.SIGKILL))
	}
	o := newWatcher(save, os.Stdout, os.Stderr)
	var err error
	if o.pid, err = strconv.Atoi(id); err != nil {
		return err
	}
	if err := o.open(); err != nil {
		return err
	}
	return o.save(context.Background(), shortage.Event{At: time.Now(), Use: 96, Limit: 100, Group: "/g"})
}

// What a watcher leaves that was killed while it saved: files that are whole. The next
// one removes the other, and nothing of a watcher that is at work.
func TestOOMKilledWatcher(t *testing.T) {
	pid, save := strconv.Itoa(sleeper(t)), filepath.Join(t.TempDir(), "a[b]*")
	if err := os.Mkdir(save, 0o700); err != nil {
		t.Fatal(err)
	}
	said, _ := testenv.Role(t, "halfway", "OOM_TEST_PID="+pid, "OOM_TEST_SAVE="+save).CombinedOutput() // it is killed
	before := contents(t, save)
	var left string
	for name := range before {
		if strings.Contains(name, unfinished) {
			left = name
			delete(before, name)
		}
	}
	for name, text := range before {
		switch base := filepath.Base(name); {
		case base == pid+".heap.pb.gz":
			if _, err := profile.ParseData([]byte(text)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case base != "summary.txt" && base != pid+".json" || !strings.HasSuffix(text, "\n"):
			t.Errorf("%s: %q", name, text)
		}
	}
	if left == "" || len(before) != 3 {
		t.Fatalf("%q and %d files are left: %s", left, len(before), said)
	}
	busy := filepath.Join(save, "oom-2-20260102T030405.000Z")
	for _, dir := range []string{busy, filepath.Join(save, "oom-3-20260102T030405.000Z"), filepath.Join(save, "oom-mine"), filepath.Join(save, "other")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := scratch.Keep(busy)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for _, name := range []string{"oom-2-20260102T030405.000Z/.tmp-1", "other/.tmp-1", ".tmp-1", "oom-mine/.tmp-1"} {
		before[name] = "kept"
		if err := os.WriteFile(filepath.Join(save, name), []byte("kept"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	o := newWatcher(save, &out, stopper(stop)).Options
	if err := Run(ctx, pid, o); err != nil {
		t.Fatal(err)
	}
	now := contents(t, save)
	for _, dir := range strings.Fields(out.String()) { // the machine may be short of memory
		maps.DeleteFunc(now, func(name, _ string) bool { return strings.HasPrefix(filepath.Join(save, name), dir+"/") })
	}
	if !maps.Equal(now, before) {
		t.Errorf("%q is left, want %q", slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(before)))
	}
}

// A stopper ends a watcher as soon as it says anything: it watches then.
type stopper func()

func (s stopper) Write(b []byte) (int, error) { s(); return len(b), nil }

// Names of cgroups and directories come from others: they are escaped where they are printed.
func TestOOMTerminalIsNotObeyed(t *testing.T) {
	const evil = "\x1b]0;owned\a\u202eevil\x7f\r\nFORGED: all is well"
	dir := t.TempDir()
	group := filepath.Join(dir, evil)
	if err := os.Mkdir(group, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"memory.stat", "memory.pressure"} {
		if err := os.WriteFile(filepath.Join(group, name), []byte(evil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	o := newWatcher(filepath.Join(dir, "x"+evil), &out, &errs)
	o.group = group
	if err := os.Mkdir(o.Save, 0o700); err != nil {
		t.Fatal(err)
	}
	e := shortage.Event{At: time.Now(), Use: 96, Limit: 100, Group: group}
	for range 2 { // the second time it is there already
		if err := o.save(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.end(shortage.Event{Cause: shortage.Ended}); err != nil {
		t.Fatal(err)
	}
	saved, err := os.ReadFile(filepath.Join(o.saves[0].dir, "summary.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"stdout": out.String(), "stderr": errs.String(), "summary.txt": string(saved)} {
		if strings.ContainsAny(text, "\x1b\a\r\x7f\u202e") || strings.Contains(text, "\nFORGED") || !strings.Contains(text, `\x1b]0;owned`) {
			t.Errorf("%s: %q", name, text)
		}
	}
}
