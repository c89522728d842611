package diagnose

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// orders is the process of the fixtures.
const orders = 4242

// A world is a fixture tree that a test may change, with what is not in files.
type world struct {
	t     *testing.T
	root  string
	page  int
	watch time.Duration

	version string // of Go; "" is not a Go program
	noExe   error
	noTrace error
	states  []goruntime.State // one after the other, the last one stays
	noState error
	pending []goruntime.Pending // as states
	samples Samples
	memory  *inspect.Process
	noParts error
	others  []memlimit.Runtime // of its container
	charge  charge.Charge      // of its container
	later   func()             // changes before the second look

	touched []string // files and directories that were changed
}

// fixtures are the names of all trees.
func fixtures(t *testing.T) []string {
	files, err := filepath.Glob("testdata/linux-*.txtar")
	if err != nil || len(files) != 5 {
		t.Fatalf("fixtures %v, %v", files, err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".txtar")
	}
	return files
}

// trees are the fixtures, written once: a test that changes one puts it back.
var trees = map[string]*tree{}

type tree struct {
	root  string
	files map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, tr := range trees {
		os.RemoveAll(tr.root)
	}
	os.Exit(code)
}

func newWorld(t *testing.T, name string) *world {
	t.Helper()
	w := &world{t: t, page: 4096, watch: time.Second, version: "go1.26.0"}
	w.states = []goruntime.State{state(100, 80<<20), state(103, 90<<20)}
	w.parts(map[waterfall.Kind]int64{waterfall.Live: 90, waterfall.Since: 60, waterfall.Free: 10})
	tr := trees[name]
	if tr == nil {
		a, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		root, err := os.MkdirTemp("", "folio-"+name)
		if err != nil {
			t.Fatal(err)
		}
		tr = &tree{root, map[string]string{}}
		trees[name], w.root = tr, root
		for _, f := range a.Files {
			tr.files[f.Name] = string(f.Data)
			w.write(f.Name, string(f.Data))
		}
	}
	w.root, w.touched = tr.root, nil
	t.Cleanup(func() {
		for _, name := range w.touched {
			if _, ok := tr.files[name]; !ok {
				os.Remove(w.path(name)) // empty directories do no harm
			}
			for f, text := range tr.files {
				if f == name || strings.HasPrefix(f, name+"/") {
					w.write(f, text)
				}
			}
		}
	})
	return w
}

// parts are the parts of the memory of the process, in MiB.
func (w *world) parts(parts map[waterfall.Kind]int64) {
	p := &inspect.Process{PID: orders, Waterfall: &waterfall.Waterfall{}}
	for k, n := range parts {
		p.Waterfall.Parts = append(p.Waterfall.Parts, waterfall.Part{Kind: k, Bytes: n << 20})
		p.Waterfall.RSS += uint64(n << 20)
	}
	p.Waterfall.Arenas = waterfall.Arenas{Count: 9, Bytes: uint64(parts[waterfall.Malloc] << 20)}
	p.Remedies = remedy.Find(&remedy.Facts{Waterfall: p.Waterfall, PID: orders})
	w.memory = p
}

// charges has the container be charged for so many MiB, and for a part of one kind.
func (w *world) charges(charged, limit uint64, kind charge.Kind, part uint64) {
	c := charge.Charge{Dir: "/sys/fs/cgroup/system.slice/orders.service", Unified: true, Usage: charged << 20}
	if limit > 0 {
		c.Limit = new(limit << 20)
	}
	p := charge.Part{Kind: kind, Bytes: part << 20, Back: kind.Back(false)}
	if kind == charge.SharedUnmapped {
		p.Of = []waterfall.Share{{Name: "/cache", Bytes: part << 20}}
	}
	c.Parts = []charge.Part{p}
	c.Advice = c.Advise()
	w.charge = c
}

// state is a runtime that is well.
func state(cycles uint32, marked uint64) goruntime.State {
	return goruntime.State{
		Cycles: cycles, Percent: new(100), Limit: new(int64(1800 << 20)),
		Marked: new(marked), Live: new(marked + 1<<20), Held: new(uint64(170 << 20)), Stacks: new(uint64(1 << 20)),
	}
}

func (w *world) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

func (w *world) write(name, text string) {
	w.t.Helper()
	name = strings.TrimPrefix(name, "/")
	w.touched = append(w.touched, name)
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(strings.ReplaceAll(text, `\0`, "\x00")), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// change replaces text that must be there.
func (w *world) change(name, old, text string) {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	old = strings.ReplaceAll(old, `\0`, "\x00")
	if !strings.Contains(string(data), old) {
		w.t.Fatalf("no %q in %s:\n%s", old, name, data)
	}
	w.write(name, strings.ReplaceAll(string(data), old, text))
}

// field sets a "Key:  value" line of all places in a file that have it.
func (w *world) field(name, key, value string) {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	lines, n := strings.Split(string(data), "\n"), 0
	for i, l := range lines {
		if strings.HasPrefix(l, key+":") {
			lines[i], n = key+": "+value, n+1
		}
	}
	if n == 0 {
		w.t.Fatalf("no %s in %s", key, name)
	}
	w.write(name, strings.Join(lines, "\n"))
}

func (w *world) remove(name string) {
	w.t.Helper()
	name = strings.TrimPrefix(name, "/")
	w.touched = append(w.touched, name)
	if _, err := os.Stat(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
	if err := os.RemoveAll(w.path(name)); err != nil {
		w.t.Fatal(err)
	}
}

type fakeRuntime struct{ w *world }

func (r fakeRuntime) Close() error { return nil }
func (r fakeRuntime) Read() (goruntime.State, error) {
	if len(r.w.states) == 0 {
		return goruntime.State{}, errors.New("gone")
	}
	s := r.w.states[0]
	if len(r.w.states) > 1 {
		r.w.states = r.w.states[1:]
	}
	return s, nil
}

// read reads the facts, without waiting.
func (w *world) read(pid int) (*Facts, error) {
	later := w.later
	return ReadFacts(context.Background(), procmem.New(w.root).WithPageSize(w.page), &ReadOptions{
		PID: pid, Watch: w.watch,
		wait: func(ctx context.Context, _ time.Duration) error {
			if later != nil {
				later()
				later = nil
			}
			return ctx.Err()
		},
		version:  func(int) (string, error) { return w.version, w.noExe },
		trace:    func() error { return w.noTrace },
		collapse: func(pid int, _ bool) string { return "folio collapse " + strconv.Itoa(pid) },
		charge:   func(procmem.FS, int) (*charge.Charge, error) { return &w.charge, nil },
		others:   func(procmem.FS, procmem.MemoryGroup, int) []memlimit.Runtime { return w.others },
		open: func(int, string) (goruntime.StateReader, error) {
			if w.noState != nil {
				return nil, w.noState
			}
			return fakeRuntime{w}, nil
		},
		pending: func(int) (PendingReader, error) { return fakePending{w}, nil },
		sample: func(context.Context, int, time.Duration) (Samples, error) {
			if w.samples.Result == nil {
				return Samples{}, errors.New("perf_event_paranoid is 3")
			}
			return w.samples, nil
		},
		memory: func(procmem.FS, int) (Memory, error) {
			if w.noParts != nil {
				return Memory{}, w.noParts
			}
			return NewMemory(w.memory)
		},
	})
}

// fakePending says one number after the other, the last one again and again.
type fakePending struct{ w *world }

func (f fakePending) Pending() (p goruntime.Pending, err error) {
	if all := f.w.pending; len(all) > 0 {
		p = all[0]
		f.w.pending = all[min(1, len(all)-1):]
	}
	return p, nil
}

func (fakePending) Close() error { return nil }

func (w *world) diagnose(pid int, skip ...string) Diagnosis {
	w.t.Helper()
	f, err := w.read(pid)
	if err != nil {
		w.t.Fatal(err)
	}
	// The fake clock stands still: a second is a second.
	f.Watched = w.watch
	return f.Diagnose(skip...)
}

// found lists what was found, as "severity rule".
func (d Diagnosis) found() []string {
	var out []string
	for _, h := range d.Findings {
		out = append(out, string(h.Severity)+" "+h.Rule)
	}
	return out
}

// unknown lists the rules that could not be checked, with the reason.
func (d Diagnosis) unknown() map[string]string {
	out := make(map[string]string)
	for _, o := range d.Outcomes {
		if o.State == NotChecked {
			out[o.Rule.ID] = o.Why
		}
	}
	return out
}

// hazard returns the one of a rule.
func (d Diagnosis) finding(t *testing.T, rule string) Finding {
	t.Helper()
	i := slices.IndexFunc(d.Findings, func(h Finding) bool { return h.Rule == rule })
	if i < 0 {
		t.Fatalf("%s found nothing; found %q, unknown %q", rule, d.found(), d.unknown())
	}
	return d.Findings[i]
}
