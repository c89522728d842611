package goheap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/base/ballast"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

func init() {
	for name, role := range map[string]func(*Advisor) error{
		"adapt small": adaptSmall, "adapt grow": adaptGrow, "adapt thin": adaptThin, "adapt untouched": adaptUntouched,
		"adapt shrink": adaptShrink, "adapt lock": adaptLock,
	} {
		roles[name] = func() error { return adapting(role) }
	}
	roles["adapt cgroup"] = func() error {
		var word string
		if _, err := fmt.Scanln(&word); err != nil { // until it is in the cgroup
			return err
		}
		return adapting(adaptGrow)
	}
}

const withoutEnv = "GOHEAP_TEST_WITHOUT" // runs the same program without an advisor

// adapted is what such a program says of itself, in bytes.
type adapted struct {
	RSS, Peak, Huge      uint64
	Faults               int64
	Reserved, Advised    uint64
	GivenUp              string
	Total, Limit, Forced uint64
}

// adapting runs a program with an adaptive reserve, or without an advisor.
func adapting(role func(*Advisor) error) error {
	var a *Advisor
	if os.Getenv(withoutEnv) == "" {
		o := eager()
		o.ReserveMode, o.NoCollapse = ReserveAdaptive, true // what the reserve does, not collapsing
		var err error
		if a, err = Start(o); err != nil {
			return err
		}
	}
	if err := role(a); err != nil {
		if a != nil {
			err = fmt.Errorf("%w: %+v", err, a.Stats())
		}
		return err
	}
	var rss, huge uint64
	var err error
	ballast.Read(func(_, _ uint64) { rss, huge, err = rollup() }) // not while memory is being released
	if err != nil {
		return err
	}
	_, peak := lockRSS()
	h := readHeap()
	forced := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(forced)
	s := adapted{RSS: rss, Huge: huge, Peak: peak, Faults: faults(), Total: h.total, Limit: h.limit, Forced: forced[0].Value.Uint64()}
	if a != nil {
		st := a.Stats()
		s.Reserved, s.Advised, s.GivenUp = uint64(st.Reserved.Len()), uint64(st.Advised.Len()), st.GivenUp
		if err := stop(a); err != nil {
			return err
		}
	}
	dump(s)
	return nil
}

func adaptRun(t *testing.T, role string, env ...string) (with, without adapted) {
	t.Helper()
	needTHP(t)
	if thp, err := procFS.THP(); err != nil || thp.Enabled.Selected != "madvise" {
		testenv.Missing(t, "the THP policy is not madvise")
	}
	if len(env) == 0 {
		env = []string{"GOMEMLIMIT=2GiB"}
	}
	out, _ := testenv.RunRole(t, role, env...)
	decode(t, out, &with)
	out, _ = testenv.RunRole(t, role, append(env, withoutEnv+"=1")...)
	decode(t, out, &without)
	t.Logf("with    %+v\nwithout %+v", with, without)
	return with, without
}

// needOwnMemory skips tests that compare the memory of processes.
func needOwnMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has more memory than the heap")
	}
}

// TestAdaptiveSmallHeap: a heap below 64 MiB is none of its business.
func TestAdaptiveSmallHeap(t *testing.T) {
	needOwnMemory(t)
	with, without := adaptRun(t, "adapt small")
	if with.Reserved != 0 || with.Advised != 0 || with.Huge != 0 {
		t.Errorf("%+v", with)
	}
	if with.Forced != without.Forced {
		t.Errorf("%d forced GC cycles, without %d", with.Forced, without.Forced)
	}
	if with.RSS > without.RSS+2<<20 || with.Peak > without.Peak+2<<20 {
		t.Errorf("RSS %d, peak %d; without %d, %d", with.RSS, with.Peak, without.RSS, without.Peak)
	}
}

func adaptSmall(a *Advisor) error {
	all := grow(20 << 20)
	for range 20 {
		_ = grow(5 << 20)
		runtime.GC()
		time.Sleep(adaptEvery / 2)
	}
	return check(all)
}

// TestAdaptiveReserve: the heap grows into huge pages, and neither the reserve nor the heap
// passes the limit.
func TestAdaptiveReserve(t *testing.T) {
	testenv.Long(t)
	needOwnMemory(t)
	const limit = 600 << 20
	with, without := adaptRun(t, "adapt grow", fmt.Sprint("GOMEMLIMIT=", limit))
	if with.Reserved < limit/2 || with.Reserved > limit || with.Advised == 0 || with.GivenUp != "" {
		t.Errorf("%+v", with)
	}
	if with.Huge < adaptHeap/2 || with.Faults > without.Faults*6/10 {
		t.Errorf("%d bytes huge, %d faults, without %d", with.Huge, with.Faults, without.Faults)
	}
	if with.Total > limit || with.RSS > without.RSS+without.RSS/20 {
		t.Errorf("RSS %d, without %d; the runtime has %d", with.RSS, without.RSS, with.Total)
	}
}

const adaptHeap = 250 << 20

// slowly grows the heap in steps, as programs do that work on something, and no faster than
// the advisor follows, which may have to wait for a CPU.
func slowly(a *Advisor, bytes int) (all [][]*node) {
	const step = 4 << 20
	for n := 0; n < bytes; n += step {
		all = append(all, grow(step))
		time.Sleep(adaptEvery / 5)
		if a == nil {
			continue
		}
		if err := testenv.Await("huge pages ahead of the heap", func() bool {
			s, goal := a.Stats(), readHeap().goal
			return goal < leastReserved || s.GivenUp != "" || s.Advised.Len() > 0 && s.Advised.Len() >= min(uintptr(goal), s.Reserved.Len())
		}); err != nil {
			panic(fmt.Sprintf("%v: %+v", err, a.Stats()))
		}
	}
	return all
}

func adaptGrow(a *Advisor) error {
	all := slowly(a, adaptHeap)
	for _, part := range all {
		if err := check(part); err != nil {
			return err
		}
	}
	return nil
}

// TestAdaptiveReserveInCgroup: the limit is that of a cgroup, in which nothing is killed.
func TestAdaptiveReserveInCgroup(t *testing.T) {
	needTHP(t)
	needOwnMemory(t)
	limit := uint64(512 << 20)
	parent, err := cgroup.Open(procmem.New(""), cgroup.Limits{Memory: &limit})
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer parent.Close()
	group, err := parent.New()
	if err != nil {
		t.Fatal(err)
	}
	defer group.Remove()
	cmd := testenv.Role(t, "adapt cgroup")
	in, out := testenv.Start(t, cmd)
	if err := group.Join(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "go")
	line, _ := out.ReadString('\n')
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	var s adapted
	decode(t, line, &s)
	t.Logf("%+v", s)
	if s.Reserved == 0 || s.Reserved > limit || s.Peak > limit || s.Huge < adaptHeap/2 {
		t.Errorf("%+v", s)
	}
}

// TestAdaptiveSparseHeap: of a heap that was large, next to nothing is left in each window.
func TestAdaptiveSparseHeap(t *testing.T) {
	testenv.Long(t)
	needOwnMemory(t)
	with, without := adaptRun(t, "adapt thin")
	if with.Reserved == 0 {
		t.Errorf("%+v", with)
	}
	// Besides, there are the runtime's tables for the reserve, and a huge page.
	if tables := with.Reserved / 1024; float64(with.RSS) > 1.05*float64(without.RSS)+float64(tables+2<<20) {
		t.Errorf("RSS %d, without %d", with.RSS, without.RSS)
	}
}

var thinKept []*node // until its memory is measured

func adaptThin(a *Advisor) error {
	for _, part := range slowly(a, 400<<20) {
		thinKept = append(thinKept, thin(part, 500)...)
	}
	clean()
	if a != nil {
		if err := testenv.Await("little bloat", func() (little bool) {
			// Ballast counts as memory in use, and with it the huge pages that it has taken.
			ballast.Read(func(_, _ uint64) {
				clean() // as without: what the reserve had free meanwhile is not what is measured
				n, err := residency()
				h := readHeap()
				little = err == nil && n <= h.committed()-h.free+uint64(page.WindowSize())/2
			})
			return little
		}); err != nil {
			return err
		}
	}
	return nil
}

// TestAdaptiveUntouchedHeap: a program that allocates much and writes to little of it loses
// what was advised by then, no more.
func TestAdaptiveUntouchedHeap(t *testing.T) {
	testenv.Long(t)
	with, _ := adaptRun(t, "adapt untouched")
	if with.Advised != 0 || !strings.HasPrefix(with.GivenUp, "the heap is sparse: ") {
		t.Errorf("%+v", with)
	}
}

func adaptUntouched(a *Advisor) error {
	all := slowly(a, 100<<20)
	const window = 2 << 20
	big := make([]byte, 350<<20)
	touch := func(from, to int) uint64 {
		for i := from; i < to; i += window {
			big[i] = 1
		}
		rss, _, err := rollup()
		if err != nil {
			panic(err)
		}
		return rss
	}
	touch(0, len(big)/2)
	if a == nil {
		return nil
	}
	if err := testenv.Await("the reserve is given up", func() bool { runtime.GC(); return a.Stats().GivenUp != "" }); err != nil {
		return err
	}
	before, _, err := rollup()
	if err != nil {
		return err
	}
	// 87 windows more, of which one page each.
	if after := touch(len(big)/2, len(big)); after > before+8<<20 {
		return fmt.Errorf("RSS went from %d to %d after the reserve was given up", before, after)
	}
	runtime.KeepAlive(all)
	return nil
}

// TestAdaptiveShrinkingHeap: a heap that stays small after it was large no longer asks for huge
// pages, and does again when it grows.
func TestAdaptiveShrinkingHeap(t *testing.T) {
	testenv.Long(t)
	with, _ := adaptRun(t, "adapt shrink")
	if with.GivenUp != "" || with.Advised == 0 {
		t.Errorf("it grew again: %+v", with)
	}
}

func adaptShrink(a *Advisor) error {
	smallFor = 100 * time.Millisecond
	all := slowly(a, 200<<20)
	if a == nil {
		return nil
	}
	if s := a.Stats(); s.Advised.Len() == 0 {
		return errors.New("no reserve")
	}
	runtime.KeepAlive(all)
	all = nil
	clean()
	if err := testenv.Await("the reserve is given up", func() bool { runtime.GC(); return a.Stats().GivenUp != "" }); err != nil {
		return err
	}
	s := a.Stats()
	if flags, err := flagsOf(page.Range(s.Reserved)); err != nil || strings.Contains(flags, " hg") || s.Advised.Len() != 0 || s.GivenUp != "the heap is small" {
		return fmt.Errorf("flags %s, %v", flags, err)
	}
	all = slowly(a, 200<<20)
	if err := testenv.Await("it asks again", func() bool { return a.Stats().Advised.Len() > 0 }); err != nil {
		return err
	}
	s = a.Stats()
	if flags, err := flagsOf(page.Range(s.Advised)); err != nil || !strings.Contains(flags, " hg") {
		return fmt.Errorf("flags %s, %v", flags, err)
	}
	runtime.KeepAlive(all)
	return nil
}

// TestAdaptiveReserveOfAProgramThatLocksItsMemory: it is released, and never made again.
func TestAdaptiveReserveOfAProgramThatLocksItsMemory(t *testing.T) {
	testenv.Long(t)
	if raceEnabled {
		t.Skip("the race detector maps terabytes, which mlockall would put in memory")
	}
	testenv.MayLock(t)
	with, without := adaptRun(t, "adapt lock", "GOMEMLIMIT=600MiB")
	if with.Reserved != 0 || with.Advised != 0 || with.RSS > without.RSS+32<<20 {
		t.Errorf("with %+v, without %+v", with, without)
	}
}

func adaptLock(a *Advisor) error {
	all := slowly(a, 100<<20)
	_ = testenv.RaiseLocked()
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE); err != nil {
		return err
	}
	if a != nil {
		if err := testenv.Await("the reserve is released", func() bool { return a.Stats().Reserved.Len() == 0 }); err != nil {
			return err
		}
	}
	more := slowly(nil, 50<<20)
	clean()
	runtime.KeepAlive(all)
	runtime.KeepAlive(more)
	return nil
}

// TestNoAdaptiveReserve: where there is no limit, where the policy makes it useless or
// impossible, and where address space counts as memory, there is none.
func TestNoAdaptiveReserve(t *testing.T) {
	needTHP(t)
	const thp = "sys/kernel/mm/transparent_hugepage/"
	files := func(file, text string) procmem.FS {
		root := t.TempDir()
		all := map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"proc/meminfo": "MemTotal: 67108864 kB\n", "sys/fs/cgroup/memory.max": "1073741824\n",
			"proc/sys/vm/overcommit_memory": "0\n",
			thp + "enabled":                 "always [madvise] never\n", thp + "defrag": "always defer defer+madvise [madvise] never\n",
			thp + "hpage_pmd_size": "2097152\n", thp + "khugepaged/max_ptes_none": "511\n",
		}
		if file != "" {
			all[file] = text
		}
		for name, text := range all {
			name = filepath.Join(root, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		return procmem.New(root)
	}
	for _, c := range []struct{ file, text, want string }{
		{"", "", ""},
		{"sys/fs/cgroup/memory.max", "max\n", "no limit of memory"},
		{thp + "enabled", "[always] madvise never\n", `the THP policy is "always"`},
		{thp + "enabled", "always madvise [never]\n", `the THP policy is "never"`},
		{"proc/sys/vm/overcommit_memory", "2\n", "vm.overcommit_memory is 2"},
	} {
		_, err := newAdaptive(files(c.file, c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.file, c.text, err, c.want)
		}
	}
}

// The reserve grows in steps, and with what it has it stays within the limit, also where the
// heap has little of it in memory.
func TestNextReserve(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name              string
		limit, total, had uint64 // MiB
		n                 uint64
		full              bool
	}{
		{"first step", 4096, 100, 0, 512, false},
		{"all of a small limit at once", 800, 100, 0, 700, true},
		{"less than the least", 150, 100, 0, 0, true},
		{"doubles", 4096, 600, 512, 512, false},
		{"the rest", 1984, 1100, 1024, 884, true},
		{"the rest, most of the reserve not in memory", 1984, 400, 1024, 960, true},
		{"too little for a GC cycle", 1984, 400, 1500, 0, true},
		{"beyond the limit", 1984, 400, 2100, 0, true},
	} {
		if n, full := nextReserve(c.limit*mib, c.total*mib, c.had*mib); n != c.n*mib || full != c.full {
			t.Errorf("%s: %d MiB, %v, want %d, %v", c.name, n/mib, full, c.n, c.full)
		}
	}
}
