package waterfall

import (
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/goversion"
	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

func open(t *testing.T, pid int) *Source {
	t.Helper()
	target, err := goruntime.Attach(procmem.FS{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := page.OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close(); pages.Close() })
	return &Source{PID: pid, Pages: pages, Runtimes: []Runtime{target}}
}

// near reports whether two figures differ by at most a fiftieth.
func near(a, b uint64) bool {
	return max(a, b)-min(a, b) <= max(a, b)/50
}

// TestParts reads programs that do nothing: the parts add up to what the kernel says, and
// are what the program says.
func TestParts(t *testing.T) {
	testenv.EveryProgram(t, goversion.SupportOf(goversion.Waterfall).Releases(), func(t *testing.T, path string) {
		pid, ask := testenv.StartMetrics(t, path)
		s := open(t, pid)
		w, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		if uint64(sum(w)) != w.RSS {
			t.Errorf("the parts have %d, RSS %d", sum(w), w.RSS)
		}
		rollup, err := procmem.FS{}.SmapsRollup(pid)
		if err != nil || !near(*rollup.Rss, w.RSS) {
			t.Errorf("RSS %d, %v; it was %d", *rollup.Rss, err, w.RSS)
		}
		said := ask()
		const classes = "/memory/classes/"
		if gc := w.GC; gc == nil || gc.Cycles == 0 || gc.Last.IsZero() || gc.Percent != -1 || gc.Limit != nil {
			t.Errorf("%+v", gc)
		}
		objects, live := said[classes+"heap/objects"], said["/gc/heap/live"]
		for k, want := range map[Kind]uint64{
			Live: live, Since: objects - live, Unused: said[classes+"heap/unused"], Free: said[classes+"heap/free"],
			Repopulated: said[classes+"heap/released"], Stacks: said.Sum(classes+"heap/stacks", classes+"os-stacks"),
		} {
			p := w.Part(k)
			if p.Runtime == nil || !near(*p.Runtime, want) {
				t.Errorf("%v: the runtime says %v, the program %d", k, p.Runtime, want)
			}
		}
		// The program has written all of its objects, and nothing of them was swapped out. On
		// stacks only what was used is in memory.
		for k, want := range map[Kind]uint64{Live: live, Free: said[classes+"heap/free"]} {
			if p := w.Part(k); !near(uint64(p.Bytes), want) {
				t.Errorf("%v: %d bytes are in memory, the program says %d", k, p.Bytes, want)
			}
		}
		for k, most := range map[Kind]uint64{
			Since: objects - live + live/50, Unused: said[classes+"heap/unused"] * 51 / 50, Repopulated: said[classes+"heap/released"],
			Stacks: said.Sum(classes+"heap/stacks", classes+"os-stacks"), Rounding: 64 << 20,
		} {
			if p := w.Part(k); p.Bytes < 0 || uint64(p.Bytes) > most {
				t.Errorf("%v: %d bytes in memory, at most %d can be", k, p.Bytes, most)
			}
		}
		if p := w.Part(Unused); p.Bytes < 20<<20 || len(w.Classes) == 0 || w.Classes[0].Size != 512 {
			t.Errorf("fragmentation: %+v, %+v", p, w.Classes)
		}
		c := w.Part(Malloc).Bytes
		if cgo := strings.HasSuffix(t.Name(), "cgo"); cgo && c+w.Part(Other).Bytes < 30<<20 || !cgo && c != 0 {
			t.Errorf("malloc has %d, other memory %d", c, w.Part(Other).Bytes)
		}
		if cgo := strings.HasSuffix(t.Name(), "cgo"); !cgo && w.Part(Other).Bytes > int64(w.RSS/100) {
			t.Errorf("%d bytes of other memory, of %d", w.Part(Other).Bytes, w.RSS)
		}
		for k := range Kinds {
			if p := w.Part(k); p.Uncertainty != nil && *p.Uncertainty > w.RSS/50 {
				t.Errorf("%v: +- %d, of a program that does nothing", k, *p.Uncertainty)
			}
		}
		t.Logf("%+v", w.Parts)
	})
}

// TestBothWays: a program that is stopped has the same parts by its page tables and, as before
// Linux 6.7, by smaps.
func TestBothWays(t *testing.T) {
	if err := feature.Have(feature.PagemapScan); err != nil {
		testenv.Missing(t, "%v", err)
	}
	pid, _ := testenv.StartMetrics(t, testenv.Build{Source: testenv.MetricsSource(), Env: []string{"CGO_ENABLED=0"}}.Do(t))
	s := open(t, pid)
	read := func(fs procmem.FS) *Waterfall {
		t.Helper()
		s.FS = fs
		w, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	for try := range 5 { // khugepaged can change it all the same
		before, smaps, after := read(procmem.FS{}), read(procmem.FS{}.BySmaps()), read(procmem.FS{})
		if !reflect.DeepEqual(before.Parts, after.Parts) && try < 4 {
			continue
		}
		if !reflect.DeepEqual(after.Parts, smaps.Parts) || after.RSS != smaps.RSS || *after.Drift != 0 || *smaps.Drift != 0 {
			t.Errorf("RSS %d, drift %d: %+v\nby smaps %d, %d: %+v", after.RSS, *after.Drift, after.Parts, smaps.RSS, *smaps.Drift, smaps.Parts)
		}
		names := func(w *Waterfall) (out []string) {
			for _, r := range w.Readings {
				out = append(out, r.What)
			}
			return out
		}
		if n := names(after); !slices.Contains(n, "pagemap") || slices.Contains(n, "smaps") || slices.Contains(n, "smaps_rollup") {
			t.Errorf("%v", n)
		}
		if n := names(smaps); !slices.Contains(n, "smaps") || !slices.Contains(n, "smaps_rollup") || slices.Contains(n, "pagemap") {
			t.Errorf("by smaps: %v", n)
		}
		break
	}
}

// TestChurn reads a program that allocates all the time: the parts add up all the same.
func TestChurn(t *testing.T) {
	testenv.Long(t)
	path := testenv.Build{Source: testenv.MetricsSource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	pid, _ := testenv.StartMetrics(t, path, "churn")
	s := open(t, pid)
	read := 0
	for range 20 {
		w, err := s.Read()
		if err != nil {
			continue // it says that it is inconsistent; package goruntime tests that
		}
		read++
		if uint64(sum(w)) != w.RSS {
			t.Errorf("the parts have %d, RSS %d", sum(w), w.RSS)
		}
		for _, p := range w.Parts {
			if p.Bytes < 0 && p.Kind != Changed {
				t.Errorf("%v: %d bytes", p.Kind, p.Bytes)
			}
		}
		if len(w.Readings) != 5 || w.Drift == nil {
			t.Errorf("%+v, %v", w.Readings, w.Drift)
		}
	}
	if read == 0 {
		t.Error("it could never be read")
	}
}

// TestNamed: memory to which a program gave a name is a part by it where the kernel keeps
// names; elsewhere nothing tells it from other anonymous memory.
func TestNamed(t *testing.T) {
	const size = 8 << 20
	m, err := page.Map(size, &page.Options{Name: "waterfall test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range m.Bytes() {
		m.Bytes()[i] = 1
	}
	w, err := (&Source{PID: os.Getpid()}).Read()
	if err != nil {
		t.Fatal(err)
	}
	of := Share{Name: "[anon:waterfall test]", Bytes: size}
	if err := feature.Have(feature.AnonName); err != nil {
		if w.Part(Named).Bytes != 0 || w.Part(Other).Bytes < size {
			t.Errorf("%v, and %+v", err, w.Parts)
		}
		t.Skipf("that it is named: %v", err) // a matter of how the kernel was built
	}
	if !slices.Contains(w.Part(Named).Of, of) {
		t.Errorf("no %+v in %+v", of, w.Part(Named))
	}
}

// TestNotGo reads a process without a runtime.
func TestNotGo(t *testing.T) {
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	testenv.Eventually(t, "its memory", func() bool {
		w, err := (&Source{PID: cmd.Process.Pid}).Read()
		return err == nil && uint64(sum(w)) == w.RSS && w.Part(Text).Bytes > 0
	})
	w, err := (&Source{PID: os.Getpid()}).Read()
	if err != nil || w.Part(Other).Bytes == 0 || w.Part(Live).Runtime != nil || w.Classes != nil {
		t.Errorf("%+v, %v", w, err)
	}
}
