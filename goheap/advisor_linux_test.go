package goheap

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/test/testenv"
)

var roles = map[string]func() error{
	"dense": denseRole, "window": windowRole, "sparse": sparseRole, "shrink": shrinkRole, "bloat": bloatRole, "reserve": reserveRole,
	"plain": plainRole, "disabled": disabledRole, "small": smallRole, "stress": stressRole, "target": targetRole,
	"unwanted": unwantedRole, "uncollected": uncollectedRole,
}

const dense = 200 << 20

func TestDenseHeap(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "dense")
}

func denseRole() error {
	all := grow(dense)
	runtime.GC()
	before, _, err := rollup()
	if err != nil {
		return err
	}
	a, err := Start(eager())
	if err != nil {
		return err
	}
	if _, err := Start(nil); !errors.Is(err, ErrStarted) {
		return fmt.Errorf("a second advisor: %v", err)
	}
	var rss, huge uint64
	if err := testenv.Await("coverage of 80%", func() bool {
		rss, huge, err = rollup()
		return err != nil || huge >= dense*8/10 && a.Stats().Coverage() >= 0.8
	}); err != nil {
		return fmt.Errorf("%w: %d of %d bytes huge, %+v", err, huge, rss, a.Stats())
	}
	if err != nil {
		return err
	}
	s := a.Stats()
	if float64(rss) > 1.05*float64(before) {
		return fmt.Errorf("RSS went from %d to %d: %+v", before, rss, s)
	}
	var mapped uint64
	for _, r := range s.Ranges {
		mapped += uint64(r.Len())
	}
	if s.Windows.Collapsed < dense*8/10/page.HugeSize() || s.Looks == 0 || s.Spent <= 0 || s.Err != nil || mapped != s.Mapped {
		return fmt.Errorf("%+v", s)
	}
	if err := stop(a); err != nil {
		return err
	}
	a.Stop() // once more does nothing
	if err := check(all); err != nil {
		return err
	}
	// Another one may follow.
	if a, err = Start(eager()); err != nil {
		return err
	}
	return stop(a)
}

func TestWindowAtATime(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "window")
}

// windowRole has one CPU: a window is collapsed at a time, and none before the rest is over,
// also where a GC cycle wakes the advisor.
func windowRole() error {
	all := grow(dense)
	runtime.GC()
	own, err := eager().withDefaults()
	if err != nil {
		return err
	}
	a := newAdvisor(own)
	a.pace = newPace(0.1, 1)
	if err := a.prepare(); err != nil {
		return err
	}
	done := 0
	if err := testenv.Await("ten windows", func() bool {
		now := a.pace.until
		if now.IsZero() {
			now = time.Now()
		} else if a.look(now.Add(-1)); a.stats.Windows.Collapsed != done {
			err = fmt.Errorf("%d windows in a rest", a.stats.Windows.Collapsed-done)
			return true
		}
		a.look(now)
		if n := a.stats.Windows.Collapsed - done; n > 1 {
			err = fmt.Errorf("%d windows at a time", n)
		}
		done = a.stats.Windows.Collapsed
		return err != nil || done >= 10
	}); err != nil {
		return fmt.Errorf("%w: %+v", err, a.stats)
	}
	if err != nil {
		return err
	}
	return check(all)
}

func TestSparseHeap(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "sparse")
}

// sparseRole has windows with little in them: they stay as they are.
func sparseRole() error {
	kept := thin(grow(dense), 2000)
	clean()
	before, hugeBefore, err := rollup()
	if err != nil {
		return err
	}
	a, err := Start(eager())
	if err != nil {
		return err
	}
	defer a.Stop()
	if err := testenv.Await("two looks", func() bool { runtime.GC(); return a.Stats().Looks >= 2 && a.Stats().Windows.Sparse > 0 }); err != nil {
		return fmt.Errorf("%w: %+v", err, a.Stats())
	}
	// What the rest of the program touches meanwhile is far less than the holes.
	st := a.Stats()
	holes := uint64(st.Windows.Sparse * page.HugeSize())
	rss, huge, err := rollup()
	if err != nil || st.Windows.Collapsed > 0 || st.Filled > 0 || huge > hugeBefore || rss > before+holes/10 {
		return fmt.Errorf("RSS went from %d to %d, %d to %d huge, %v: %+v", before, rss, hugeBefore, huge, err, st)
	}
	runtime.KeepAlive(kept)
	return nil
}

func TestShrinkingHeap(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "shrink")
}

// shrinkRole drops most of a heap that was collapsed: it takes as much memory then
// as the runtime wants it to.
func shrinkRole() error {
	all := grow(dense)
	a, err := Start(eager())
	if err != nil {
		return err
	}
	defer a.Stop()
	if err := testenv.Await("coverage of 80%", func() bool { return a.Stats().Coverage() >= 0.8 }); err != nil {
		return fmt.Errorf("%w: %+v", err, a.Stats())
	}
	kept := thin(all, 2000)
	all = nil
	clean()
	return settle(a, func() { runtime.KeepAlive(kept) })
}

// settle waits until what is resident is what the runtime has in use.
func settle(a *Advisor, keep func()) error {
	err := testenv.Await("little bloat", func() bool {
		h := readHeap()
		res, err := residency()
		return err == nil && res <= h.committed()+h.committed()/4+2*minRelease
	})
	keep()
	if err != nil {
		return fmt.Errorf("%w: %+v", err, a.Stats())
	}
	return nil
}

func residency() (n uint64, err error) {
	ranges, err := own(procFS)
	for _, r := range ranges {
		res, e := r.Residency(nil)
		err = errors.Join(err, e)
		n += res.Resident
	}
	return n, err
}

func TestRelease(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "bloat")
}

// bloatRole fills all holes of a sparse heap, as khugepaged does with
// max_ptes_none=511: they are released.
func bloatRole() error {
	kept := thin(grow(dense), 2000)
	clean()
	ranges, err := own(procFS)
	if err != nil {
		return err
	}
	before, err := residency()
	if err != nil {
		return err
	}
	for _, r := range ranges {
		if c, err := r.Collapse(&page.CollapseOptions{AnyDensity: true}); err != nil || c.Collapsed == 0 {
			return fmt.Errorf("%+v, %w", c, err)
		}
	}
	if bloated, err := residency(); err != nil || bloated < 4*before {
		return fmt.Errorf("the heap went from %d to %d only, %v", before, bloated, err)
	}
	debug.FreeOSMemory()
	if bloated, err := residency(); err != nil || bloated < 4*before {
		return fmt.Errorf("the runtime releases it itself by now: %d, %v", bloated, err)
	}
	a, err := Start(eager())
	if err != nil {
		return err
	}
	defer a.Stop()
	if err := testenv.Await("memory is released", func() bool { return a.Stats().Releases > 0 }); err != nil {
		return fmt.Errorf("%w: %+v", err, a.Stats())
	}
	if err := settle(a, func() {}); err != nil {
		return err
	}
	if s := a.Stats(); s.Released < dense/2 {
		return fmt.Errorf("%+v", s)
	}
	for _, n := range kept {
		for j, d := range n.data {
			if d != n.sum+uint64(j) {
				return fmt.Errorf("changed: %+v", *n)
			}
		}
	}
	return nil
}

func TestReserve(t *testing.T) {
	needCollapse(t)
	needTHP(t)
	var with, without struct{ Before, Faults, Huge int64 }
	out, _ := testenv.RunRole(t, "reserve")
	decode(t, out, &with)
	out, _ = testenv.RunRole(t, "plain")
	decode(t, out, &without)
	// Each base page of what grows is a fault. (The race detector's own memory has
	// faults as well, in both.)
	if saved := without.Faults - with.Faults; saved < int64(dense/page.Size())*8/10 {
		t.Errorf("%d faults with a reserve, %d without", with.Faults, without.Faults)
	}
	if with.Huge < dense*8/10 {
		t.Errorf("%d bytes are huge", with.Huge)
	}
	if with.Before > without.Before+(16<<20) {
		t.Errorf("the reserve itself takes memory: RSS %d, without %d", with.Before, without.Before)
	}
}

func reserveRole() error {
	o := eager()
	o.Reserve, o.NoCollapse = 2*dense, true
	a, err := Start(o)
	if err != nil {
		return err
	}
	if s := a.Stats(); s.Reserved.Len() < dense || s.Reserved.Len() > 2*dense {
		return fmt.Errorf("%+v", s)
	}
	if err := measureGrowth(); err != nil {
		return err
	}
	reserved := a.Stats().Reserved
	if err := stop(a); err != nil {
		return err
	}
	// Under madvise, the reserve is no longer advised: what is used anew gets base pages.
	if thp, err := procFS.THP(); err != nil || thp.Enabled.Selected != "madvise" {
		return err
	}
	vmas, err := flagsOf(page.Range(reserved))
	if err != nil || strings.Contains(vmas, " hg") {
		return fmt.Errorf("flags after Stop: %s, %v", vmas, err)
	}
	return nil
}

func plainRole() error { return measureGrowth() }

func measureGrowth() error {
	before, _, err := rollup()
	if err != nil {
		return err
	}
	first := faults()
	all := grow(dense)
	n := faults() - first
	_, huge, err := rollup()
	dump(map[string]int64{"Before": int64(before), "Faults": n, "Huge": int64(huge)})
	return errors.Join(err, check(all))
}

func TestDisabled(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "disabled")
}

func disabledRole() error {
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	for _, o := range []*Options{nil, {Reserve: 64 << 20}} {
		a, err := Start(o)
		if a != nil || err == nil || !strings.Contains(err.Error(), "PR_SET_THP_DISABLE") || !strings.HasPrefix(err.Error(), "goheap: ") {
			return fmt.Errorf("Start(%+v): %v, %v", o, a, err)
		}
	}
	return nil
}

func TestUnwantedByTheUser(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "unwanted", "GODEBUG=disablethp=1")
}

// unwantedRole runs with GODEBUG=disablethp=1: a reserve would undo that.
func unwantedRole() error {
	for _, o := range []*Options{nil, {Reserve: 64 << 20}} {
		a, err := Start(o)
		if a != nil || err == nil || !strings.Contains(err.Error(), "GODEBUG=disablethp=1") {
			return fmt.Errorf("Start(%+v): %v, %v", o, a, err)
		}
	}
	all := grow(16 << 20)
	ranges, err := own(procFS)
	if err != nil {
		return err
	}
	for _, r := range ranges {
		if flags, err := flagsOf(r); err != nil || strings.Contains(flags, " hg") {
			return fmt.Errorf("flags %s, %v", flags, err)
		}
	}
	return check(all)
}

func TestWithoutCollections(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "uncollected", "GOGC=off")
}

// uncollectedRole has no GC cycles to wake the advisor.
func uncollectedRole() error {
	idler := &Advisor{options: Options{MinHeap: 64 << 20, MaxWait: time.Hour}}
	if _, most := idler.look(time.Now()); most != atLeast {
		return fmt.Errorf("it waits for up to %v", most)
	}
	debug.SetGCPercent(100)
	if _, most := idler.look(time.Now()); most != time.Hour {
		return fmt.Errorf("it waits for up to %v, although it would be woken", most)
	}
	debug.SetGCPercent(-1)
	a, err := Start(&Options{MinHeap: dense / 2, MinWait: 10 * time.Millisecond, MaxWait: time.Hour, Budget: 1, MaxPressure: 1})
	if err != nil {
		return err
	}
	defer a.Stop()
	all := grow(dense)
	if err := testenv.Await("coverage of 80%", func() bool { return a.Stats().Coverage() >= 0.8 }); err != nil {
		return fmt.Errorf("%w: %+v", err, a.Stats())
	}
	if n := readHeap().cycles; n != 0 {
		return fmt.Errorf("%d collections", n)
	}
	return check(all)
}

func TestSmallHeap(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "small")
}

// smallRole is no business of an advisor: it does not even look at pages.
func smallRole() error {
	o := eager()
	o.MinHeap = 0 // the default
	a, err := Start(o)
	if err != nil {
		return err
	}
	defer a.Stop()
	all := grow(20 << 20)
	for range 20 {
		runtime.GC()
	}
	if err := testenv.Await("time spent", func() bool { return a.Stats().Spent > 0 }); err != nil {
		return err
	}
	_, huge, err := rollup()
	if s := a.Stats(); s.Looks != 0 || s.Windows.Collapsed != 0 || huge != 0 || err != nil {
		return fmt.Errorf("%d bytes huge, %v: %+v", huge, err, s)
	}
	return check(all)
}

func TestContentsUnderStress(t *testing.T) {
	needCollapse(t)
	testenv.RunRole(t, "stress")
}

// stressRole allocates, collects and releases on several threads, while its heap
// is collapsed: nothing changes that it holds.
func stressRole() error {
	a, err := Start(eager())
	if err != nil {
		return err
	}
	defer a.Stop()
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for g := range errs {
		wg.Go(func() {
			for round := range 4 {
				all := grow(16 << 20)
				if round%2 == g%2 {
					clean()
				}
				if g == 0 {
					takeReleased(64<<20, farAway())
				}
				if errs[g] = check(all); errs[g] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return testenv.Await("windows were collapsed", func() bool { grow(16 << 20); return a.Stats().Windows.Collapsed > 0 })
}

// TestOnceLarge: a heap that was large is looked at when it is small, too: somebody else
// may have put it on huge pages.
func TestOnceLarge(t *testing.T) {
	a := &Advisor{options: Options{MinHeap: math.MaxInt32, MinDensity: 0.8, MaxBloat: 1, MaxWait: time.Hour},
		fs: procFS, said: map[string]bool{}}
	a.options.Log = testenv.Log(func(_ slog.Level, text string) { t.Log(text) }).Logger()
	if a.look(time.Now()); a.stats.Looks != 0 {
		t.Errorf("%+v", a.stats)
	}
	a.stats.Looks = 1
	if a.look(time.Now()); a.stats.Looks != 2 || a.stats.Resident == 0 || a.stats.Err != nil {
		t.Errorf("%+v", a.stats)
	}
}
