package goheap

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

func TestOptions(t *testing.T) {
	var none *Options
	o, err := none.withDefaults()
	if err != nil || o.MinHeap != 256<<20 || o.MinDensity != 0.8 || o.MaxBloat != 0.05 || o.Budget != 0 || o.MaxPressure != 0.1 ||
		o.MinWait != 250*time.Millisecond || o.MaxWait != 30*time.Second || o.Reserve != 0 || o.NoCollapse || o.NoRelease || o.Log == nil {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := (&Options{MinHeap: 1, MinWait: time.Minute}).withDefaults(); err != nil || o.MinHeap != 1 || o.MaxWait != time.Minute {
		t.Errorf("%+v, %v", o, err)
	}
	for name, o := range map[string]Options{
		"MinDensity": {MinDensity: 0.1}, "MaxBloat": {MaxBloat: 2}, "Budget": {Budget: -1}, "MaxPressure": {MaxPressure: -1},
		"Reserve": {Reserve: -3}, "ReserveMode": {ReserveMode: 3}, "ReserveFixed": {ReserveMode: ReserveLimit, Reserve: 1}, "MinHeap": {MinHeap: -1},
		"NoCollapse": {NoCollapse: true}, "MinWait": {MinWait: -1},
	} {
		if _, err := o.withDefaults(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHazards(t *testing.T) {
	thp := func(enabled, defrag string, none int) procmem.THP {
		return procmem.THP{Present: true, Enabled: procmem.Choice{Selected: enabled},
			Defrag: procmem.Choice{Selected: defrag}, MaxPtesNone: &none}
	}
	all := page.WindowSize()/page.Size() - 1
	for _, c := range []struct {
		thp     procmem.THP
		reserve int64
		want    []string
	}{
		{thp("madvise", "defer", all), 0, nil},
		{thp("madvise", "defer", all), 1, []string{"khugepaged re-populates"}},
		{thp("always", "defer", all), 0, []string{"khugepaged re-populates"}},
		{thp("always", "defer", 0), 1, nil},
		{thp("madvise", "madvise", 0), 1, []string{"defrag is madvise"}},
		{thp("always", "always", all), 0, []string{"khugepaged re-populates", "defrag is always"}},
		{procmem.THP{}, 1, nil},
	} {
		got := hazards(c.thp, Options{Reserve: c.reserve})
		if len(got) != len(c.want) {
			t.Errorf("%+v: %q", c.thp, got)
			continue
		}
		for i, w := range c.want {
			if !strings.Contains(got[i], w) {
				t.Errorf("%+v: %q, want %q", c.thp, got[i], w)
			}
		}
	}
}

func TestBackoff(t *testing.T) {
	b := backoff{least: time.Second, most: 3 * time.Second}
	now := time.Now()
	for _, want := range []time.Duration{1, 2, 3, 3} {
		if b.left(now) != 0 {
			t.Errorf("left %v", b.left(now))
		}
		b.again(now)
		if got := b.left(now); got != want*time.Second {
			t.Errorf("%v, want %v s", got, want)
		}
		now = now.Add(want * time.Second)
	}
	b.again(now)
	b.reset()
	if b.left(now) != 0 {
		t.Error("reset")
	}
}

func TestPressureGate(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "proc", "pressure", "memory")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	var g pressureGate
	now := time.Now()
	read := func(total string) bool {
		t.Helper()
		if err := os.WriteFile(file, []byte("some total="+total+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		high, err := g.above(procmem.New(root), now, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
		return high
	}
	if read("1000000") || read("1050000") {
		t.Error("high at 5%")
	}
	if !read("1250000") {
		t.Error("not high at 20%")
	}
	if read("1250000") {
		t.Error("stays high")
	}
	now = now.Add(time.Minute)
	if read("60000000") {
		t.Error("what was a minute ago counts")
	}
	if high, err := new(pressureGate).above(procmem.New(t.TempDir()), now, 0.1); high || err != nil {
		t.Errorf("a kernel without PSI: %v, %v", high, err)
	}
}

func TestAffords(t *testing.T) {
	a := &Advisor{options: Options{MaxBloat: 0.05}}
	whole := uint64(page.WindowSize())
	window := func(resident uint64) page.Window {
		return page.Window{Range: page.Range{Start: 0, End: uintptr(whole)}, Resident: resident}
	}
	if !a.affords(window(whole)) || a.affords(window(whole*9/10)) {
		t.Error("the first window")
	}
	a.stats.Windows.Collapsed = 99
	if !a.affords(window(whole / 2)) {
		t.Error("half a window of a hundred")
	}
	a.stats.Filled = whole * 5 / 2
	if a.affords(window(whole / 2)) {
		t.Error("more than half of MaxBloat")
	}
}

func TestReserveSize(t *testing.T) {
	if n, err := reserveSize(procmem.New(t.TempDir()), Options{Reserve: 5}); n != 5 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 40))
	if n, err := reserveSize(procmem.New(t.TempDir()), Options{ReserveMode: ReserveLimit}); n != 1<<40 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	debug.SetMemoryLimit(math.MaxInt64)
	if n, err := reserveSize(procmem.New(t.TempDir()), Options{ReserveMode: ReserveLimit}); err == nil ||
		!strings.Contains(err.Error(), "GOMEMLIMIT") {
		t.Errorf("%d, %v", n, err)
	}
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	if mayCollapse() == nil {
		return // the other tests need that
	}
	a, err := Start(nil)
	if a != nil || err == nil || !strings.HasPrefix(err.Error(), "goheap: ") {
		t.Errorf("%v, %v", a, err)
	}
	if !errors.Is(err, page.ErrNotSupported) && !strings.Contains(err.Error(), "PR_SET_THP_DISABLE") {
		t.Error(err)
	}
}

func TestPace(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	windows := func(mib int) int { return mib << 10 / (page.WindowSize() >> 10) }
	p := newPace(0, 8)
	p.todo = windows(512)
	near("half a GiB", p.share(), leastShare)
	p.todo = windows(4 << 10)
	near("4 GiB, in 1.6 s of CPU time", p.share(), 0.8)
	p.todo = windows(64 << 10)
	near("64 GiB", p.share(), 1)
	near("64 GiB, rest", float64(p.rest(time.Second)), 0)
	one := newPace(0, 1)
	one.todo = p.todo
	near("64 GiB, one processor", one.share(), 0.5)
	near("one processor, rest", float64(one.rest(time.Second)), float64(time.Second))

	// A host that gives memory slowly.
	p.todo = windows(512)
	for range 30 {
		p.took(10, time.Duration(10*5*float64(aGiB)*float64(page.WindowSize())/(1<<30)))
	}
	near("half a GiB, five times as slow", p.share(), 0.5)
	p.took(0, time.Hour)
	near("nothing was done", p.share(), 0.5)

	own := newPace(0.1, 8)
	own.todo = windows(64 << 10)
	near("what the user has set", own.share(), 0.1)
}

// A heap that grows and is about to become large is looked at again soon: the news of a GC
// cycle may come late.
func TestLooksSoonAtAGrowingHeap(t *testing.T) {
	const mib = 1 << 20
	a := newAdvisor(Options{})
	a.adaptive = &adaptive{}
	for _, c := range []struct {
		committed, goal uint64
		soon            bool
	}{
		{4 * mib, 8 * mib, false},
		{8 * mib, 17 * mib, true},
		{8 * mib, 17 * mib, false}, // does not grow
		{15 * mib, 63 * mib, true},
		{12 * mib, 63 * mib, false},
	} {
		if soon := a.adapt(time.Now(), &heapState{mapped: c.committed, goal: c.goal}); soon != c.soon {
			t.Errorf("%d MiB, the goal %d MiB: %v", c.committed/mib, c.goal/mib, soon)
		}
	}
}

func TestUnwanted(t *testing.T) {
	for godebug, want := range map[string]bool{
		"": false, "gctrace=1": false, "disablethp=0": false, "xdisablethp=1": false,
		"disablethp=1": true, "gctrace=1,disablethp=1,madvdontneed=1": true,
	} {
		if err := unwanted(godebug); (err != nil) != want {
			t.Errorf("GODEBUG=%s: %v", godebug, err)
		}
	}
}
