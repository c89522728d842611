package goruntime

import (
	"context"
	"errors"
	"maps"
	"os/exec"
	"reflect"
	"slices"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// Goroutines that are read many at a time are those that are read one by one.
func TestGoroutinesTogether(t *testing.T) {
	path := testenv.Build{Source: testenv.MetricsSource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	pid, _ := testenv.StartMetrics(t, path)
	target, err := Attach(procmem.FS{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for _, stacks := range []bool{true, false} {
		var all map[uint64]Goroutine
		add := func(g *Goroutine) {
			one := *g
			one.Stack = slices.Clone(g.Stack)
			all[g.ID] = one
		}
		together := func() map[uint64]Goroutine {
			all = make(map[uint64]Goroutine)
			if unread, err := target.EachGoroutine(t.Context(), stacks, add); err != nil || unread != 0 {
				t.Fatalf("%d unread, %v", unread, err)
			}
			return all
		}
		apart := func() map[uint64]Goroutine {
			all = make(map[uint64]Goroutine)
			r, err := newGoroutines(target, stacks)
			if err != nil {
				t.Fatal(err)
			}
			list, err := target.Goroutines()
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range list {
				if g, err := r.alone(at); err != nil {
					t.Fatal(err)
				} else if g != nil {
					add(g)
				}
			}
			return all
		}
		var a, b map[uint64]Goroutine
		same := testenv.Within(func() bool { // the runtime's own do something now and then
			a, b = together(), apart()
			return maps.EqualFunc(a, b, func(a, b Goroutine) bool { return reflect.DeepEqual(a, b) })
		})
		deep := 0
		for _, g := range a {
			if len(g.Stack) > 1 && g.Whole {
				deep++
			}
		}
		if !same || len(a) < 1000 || stacks != (deep > 900) {
			t.Errorf("stacks %t: %d goroutines, %d with a whole stack; %d one by one; the same: %t", stacks, len(a), deep, len(b), same)
		}
	}
}

// atCall calls f when it is asked for the n-th time whether it is done.
type atCall struct {
	context.Context
	n int
	f func()
}

func (c *atCall) Err() error {
	if c.n--; c.n == 0 {
		c.f()
	}
	return nil
}

// Where the process ends meanwhile, each goroutine was visited or counts as not read.
func TestGoroutinesCut(t *testing.T) {
	path := testenv.Build{Source: testenv.MetricsSource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	cmd, _, _, target := attached(t, path)
	visited := 0
	unread, err := target.EachGoroutine(&atCall{t.Context(), 2, func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}}, true, func(g *Goroutine) { visited++ })
	if !errors.Is(err, ErrGone) || visited == 0 || visited > batched || visited+unread < 1000 || visited+unread > 1100 {
		t.Errorf("%d visited, %d not read, %v", visited, unread, err)
	}
}

// Any number of the first are from everywhere.
func TestStride(t *testing.T) {
	for n := 1; n < 300; n++ {
		seen := make(map[int]bool)
		for i := range n {
			seen[i*stride(n)%n] = true
		}
		if len(seen) != n || !seen[0] || !seen[n-1] {
			t.Fatalf("%d of %d", len(seen), n)
		}
	}
	parts := make(map[int]int)
	for i := range 10 { // of 200: some of each fifth
		parts[i*stride(200)%200/40]++
	}
	if len(parts) != 5 {
		t.Errorf("%v", parts)
	}
}

func TestBatch(t *testing.T) {
	m := memory{}
	m.mapped(0x10000, 0x20000) // 0x10000 to 0x30000
	m.word(0x10008, 7)
	m.word(0x2fff8, 9)
	target := &Target{mem: m}
	target.begin()
	b := newBatch(target, 0x20000)
	wants := []Range{{0x2fff8, 0x30000}, {0x10008, 0x10010}, {0x10000, 0x18000}, {0x14000, 0x1c000}, {0x1a000, 0x22000}, {0x30000, 0x30008}, {0x10008, 0x10010}, {1<<64 - 8, 0}}
	for _, w := range wants {
		b.add(w.Start, w.End-w.Start)
	}
	b.read()
	for _, w := range wants {
		data := b.at(w.Start, w.End-w.Start)
		there := w.Start < 0x2fff8 // what cannot be read is missing, with what is read at once
		if there != (data != nil) || there && uint64(len(data)) != w.Len() {
			t.Errorf("%x: %d bytes", w, len(data))
		}
		want := make([]byte, len(data))
		if _, err := m.ReadAt(want, int64(w.Start)); there && (err != nil || !slices.Equal(data, want)) {
			t.Errorf("%x: it is other memory", w)
		}
	}
	b.clear()
	b.add(0x2fff8, 8)
	b.read()
	if data := b.at(0x2fff8, 8); len(data) != 8 || data[0] != 9 {
		t.Errorf("%v", data)
	}
	if b.at(0x10008, 8) != nil || b.at(0x2fff8, 16) != nil || b.at(0x2fff0, 8) != nil {
		t.Error("what was not read")
	}
	small := newBatch(target, 16)
	small.add(0x10000, 16)
	small.add(0x20000, 16)
	small.read()
	if len(small.at(0x10000, 16)) != 16 || small.at(0x20000, 16) != nil {
		t.Error("there is room for one")
	}
}

// Large reads are by the number of the process, and only while it is the process that was
// opened.
func TestReadFast(t *testing.T) {
	path := testenv.Build{Source: testenv.MetricsSource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	pid, _ := testenv.StartMetrics(t, path)
	other, _ := testenv.StartMetrics(t, path)
	target, err := Attach(procmem.FS{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	h, err := target.Heap()
	if err != nil || len(h.InUse) == 0 {
		t.Fatalf("%+v, %v", h, err)
	}
	fastly, slowly := make([]byte, fast), make([]byte, fast)
	if target.pid != pid || !target.readFast(target.at.Code+target.moved, fastly) {
		t.Fatalf("process %d is not read by its number: %d", pid, target.pid)
	}
	if n, err := target.mem.ReadAt(slowly, int64(target.at.Code+target.moved)); n != len(slowly) || err != nil || !slices.Equal(fastly, slowly) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if target.readFast(1<<40, fastly) {
		t.Error("memory that is not there")
	}
	// Its number is that of another process now.
	gone := exec.Command(path)
	in, _ := testenv.Start(t, gone)
	was, err := Attach(procmem.FS{}, gone.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer was.Close()
	in.Close()
	if err := gone.Wait(); err != nil {
		t.Fatal(err)
	}
	was.pid = other
	if was.readFast(was.at.Code+was.moved, fastly) {
		t.Error("memory of another process")
	}
	if err := was.read(was.at.Code+was.moved, fastly); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
	if procmem.New(t.TempDir()).Numbered() {
		t.Error("numbers of another /proc")
	}
}
