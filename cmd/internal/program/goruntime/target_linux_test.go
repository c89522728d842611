package goruntime

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// say makes of metrics what is compared with what was read.
func say(m testenv.Metrics) Stats {
	const classes = "/memory/classes/"
	return Stats{
		Objects: m[classes+"heap/objects"], Unused: m[classes+"heap/unused"], Free: m[classes+"heap/free"], Released: m[classes+"heap/released"],
		Stacks: m[classes+"heap/stacks"], OSStacks: m[classes+"os-stacks"],
		Metadata: m.Sum(classes+"metadata/mcache/free", classes+"metadata/mcache/inuse", classes+"metadata/mspan/free",
			classes+"metadata/mspan/inuse", classes+"metadata/other", classes+"other", classes+"profiling/buckets"),
		Live: m["/gc/heap/live"], ObjectCount: m["/gc/heap/objects"], Cycles: uint32(m["/gc/cycles/total"]),
	}
}

var releases = goversion.SupportOf(goversion.Waterfall).Releases()

// TestStats compares what is read of programs that do nothing with what they say of
// themselves: it is the same.
func TestStats(t *testing.T) {
	testenv.EveryProgram(t, releases, func(t *testing.T, path string) {
		pid, ask := testenv.StartMetrics(t, path)
		target, err := Attach(procmem.FS{}, pid)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		// The scavenger may return memory at any time.
		same := func(s Stats) Stats {
			s.WorkBufs, s.LastGC, s.TotalAlloc, s.Percent, s.MemoryLimit = 0, 0, 0, 0, 0
			return s
		}
		var before, after Stats
		var said testenv.Metrics
		var h *Heap
		for range 20 {
			if before, err = target.Stats(); err != nil {
				t.Fatal(err)
			}
			said = ask()
			// Within the statistics: a goroutine's stack may grow after them.
			if h, err = target.Heap(); err != nil && !errors.Is(err, ErrInconsistent) {
				t.Fatal(err)
			}
			if after, err = target.Stats(); err != nil {
				t.Fatal(err)
			}
			if before == after && h != nil {
				break
			}
		}
		if before != after || h == nil {
			t.Fatalf("it never rests: %+v, %+v, heap %v", before, after, h != nil)
		}
		if same(after) != say(said) || after.Total() != said["/memory/classes/total"] {
			t.Errorf("\n%+v, total %d\nit says\n%+v, total %d", same(after), after.Total(), say(said), said["/memory/classes/total"])
		}
		// What was allocated in spans that are not full yet is not in it.
		if allocs := said["/gc/heap/allocs"]; allocs == 0 || after.TotalAlloc > allocs || allocs-after.TotalAlloc > 1<<20 {
			t.Errorf("%d bytes allocated in all; it says %d", after.TotalAlloc, allocs)
		}
		if after.Percent != -1 || after.LastGC == 0 {
			t.Errorf("GOGC %d, last GC %d", after.Percent, after.LastGC)
		}
		checkHeap(t, h, after)
		all, err := target.Goroutines()
		if err != nil || len(all) < 1000 || len(all) > 1100 {
			t.Errorf("%d goroutines, %v", len(all), err)
		}
		if ranges, err := target.Metadata(); err != nil || len(ranges) == 0 {
			t.Errorf("metadata at %v, %v", ranges, err)
		}
	})
}

// checkHeap compares the pages of a heap with the statistics, which are kept apart from
// them.
func checkHeap(t *testing.T, h *Heap, s Stats) {
	t.Helper()
	var bytes, objects uint64 // in spans for objects
	for _, c := range h.Classes {
		bytes, objects = bytes+c.Bytes, objects+c.Objects
	}
	if bytes != s.InHeap() || h.Stacks != s.Stacks || h.Work != s.WorkBufs || h.Free != s.Free || h.Released != s.Released {
		t.Errorf("spans %d, stacks %d, GC %d, free %d, released %d; statistics %+v", bytes, h.Stacks, h.Work, h.Free, h.Released, s)
	}
	// Objects that a P allocated from a span that it still has are counted there first.
	if objects < s.Objects || objects > s.Objects+s.Objects/50+1<<20 {
		t.Errorf("%d bytes of objects in spans, statistics %d", objects, s.Objects)
	}
	pages := uint64(0)
	for _, r := range h.InUse {
		pages += uint64(len(h.Pages(r)))
	}
	if all := bytes + h.Stacks + h.Work + h.Free + h.Released; pages*PageSize != all {
		t.Errorf("%d bytes in pages, %d in parts", pages*PageSize, all)
	}
}

// TestChurn reads a program that allocates all the time: what is read is consistent, or
// an error.
func TestChurn(t *testing.T) {
	testenv.Long(t)
	path := testenv.Build{Source: testenv.MetricsSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0"}}.Do(t)
	pid, ask := testenv.StartMetrics(t, path, "churn")
	target, err := Attach(procmem.FS{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	good := 0
	for range 50 {
		h, err := target.Heap()
		if errors.Is(err, ErrInconsistent) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		good++
		s, said := say(ask()), h.Stacks
		if s.Stacks/2 > said || s.Stacks*2 < said {
			t.Errorf("stacks %d, it says %d", said, s.Stacks)
		}
	}
	if good == 0 {
		t.Error("no reading was consistent")
	}
}

// attached starts a program that says its metrics, and attaches to it once it is ready.
func attached(t *testing.T, path string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader, target *Target) {
	t.Helper()
	cmd = exec.Command(path)
	in, out = testenv.Start(t, cmd)
	t.Cleanup(func() { in.Close() })
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	target, err := Attach(procmem.FS{}, cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	return cmd, in, out, target
}

// TestGone is about processes that end, or begin another program.
func TestGone(t *testing.T) {
	path := testenv.Build{Source: testenv.MetricsSource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	cmd, in, out, target := attached(t, path)
	if !target.Alive() {
		t.Error("it is gone before its end")
	}
	// It begins itself again: the number is the same, the memory is not.
	if _, err := io.WriteString(in, "again\n"); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "its new beginning", func() bool { return !target.Alive() })
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := target.Stats(); !errors.Is(err, ErrGone) || target.Alive() {
		t.Errorf("statistics of a program that is no more: %v", err)
	}
	again, err := Attach(procmem.FS{}, cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	target = again
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if target.Alive() {
		t.Error("it is alive after its end")
	}
	if _, err := target.Stats(); !errors.Is(err, ErrGone) {
		t.Errorf("statistics of a process that has ended: %v", err)
	}
	if _, err := target.Heap(); !errors.Is(err, ErrGone) {
		t.Errorf("heap of a process that has ended: %v", err)
	}
}

func TestAttachNotGo(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	var err error
	if !testenv.Within(func() bool { // until its exec is done the kernel knows little of it
		_, err = Attach(procmem.FS{}, cmd.Process.Pid)
		return err != nil && strings.Contains(err.Error(), "not a Go program")
	}) {
		t.Errorf("%v", err)
	}
}
