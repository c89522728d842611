package diagnose

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// Fixtures by what they are needed for.
const (
	k510 = "linux-5.10-cgroup-v1"
	k515 = "linux-5.15-cgroup-v2"
	k61  = "linux-6.1-no-cgroup"
	k68  = "linux-6.8-cgroup-v2"
	k618 = "linux-6.18-cgroup-hybrid"
)

const service = "sys/fs/cgroup/system.slice/orders.service/"

// counters changes counters of vmstat before the second look, a second later.
func (w *world) counters(pairs ...string) {
	w.later = func() {
		for i := 0; i < len(pairs); i += 2 {
			w.change("proc/vmstat", pairs[i], pairs[i+1])
		}
	}
}

// runtimes sets the states from a change of a good one: each look has i.
func (w *world) runtimes(change func(i int, s *goruntime.State)) {
	w.states = nil
	for i := range 3 {
		s := state(uint32(100+i), 80<<20)
		change(i, &s)
		w.states = append(w.states, s)
	}
}

// kB is in the unit of /proc.
func kB(mib int) string { return fmt.Sprintf("%d kB", mib<<10) }

func collecting(share float64, samples uint64) Samples {
	r := &profile.Result{Samples: samples, Classes: []profile.ClassShare{
		{Class: profile.GCMark, Seconds: share / 2}, {Class: profile.WriteBarrier, Seconds: share / 2},
		{Class: profile.Program, Seconds: 1 - share},
	}}
	r.Recompute()
	return Samples{CPU: 0.9, Result: r}
}

// fires is a change of a fixture, and what is then found.
type fires struct {
	name    string
	fixture string
	change  func(*world)
	want    string   // "severity rule", more behind commas; "" for nothing
	says    []string // in the text of the first
}

// firing has, for each rule, what makes it find something, and what just does
// not. want are all findings, so no other rule takes part.
var firing = []fires{
	{"no THP", k61, func(w *world) { w.remove("sys/kernel/mm/transparent_hugepage") }, "warning thp-missing",
		[]string{"CONFIG_TRANSPARENT_HUGEPAGE"}},
	{"never, with collapse", k618, func(w *world) { w.write(thpEnabled, "always madvise [never]\n") }, "warning thp-never",
		[]string{"always madvise [never]", "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled", "MADV_COLLAPSE"}},
	{"never, without", k510, func(w *world) { w.write(thpEnabled, "always madvise [never]\n") }, "warning thp-never", nil},
	{"always", k515, func(w *world) { w.write(thpEnabled, "[always] madvise never\n") }, "note thp-always",
		[]string{"[always] madvise never"}},
	{"defrag", k68, func(w *world) { w.write(thpDefrag, "[always] defer defer+madvise madvise never\n") }, "note defrag-always",
		[]string{"echo defer+madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag"}},
	{"defrag, no THP", k68, func(w *world) {
		w.write(thpDefrag, "[always] defer defer+madvise madvise never\n")
		w.write(thpEnabled, "always madvise [never]\n")
	}, "warning thp-never", nil},
	{"defrag and always", k68, func(w *world) {
		w.write(thpDefrag, "[always] defer defer+madvise madvise never\n")
		w.write(thpEnabled, "[always] madvise never\n")
	}, "warning defrag-always, note thp-always", nil},

	{"max_ptes_none", k515, func(w *world) { w.write(ptesNone, "511\n") }, "note max-ptes-none",
		[]string{"512 times", "1 of 512", ptesNone + ": 511"}},
	{"max_ptes_none, just", k515, func(w *world) { w.write(ptesNone, "65\n") }, "note max-ptes-none", []string{"1.1 times"}},
	{"max_ptes_none, just not", k515, func(w *world) { w.write(ptesNone, "64\n") }, "", nil},
	{"max_ptes_none, never", k515, func(w *world) {
		w.write(ptesNone, "511\n")
		w.write(thpEnabled,
			"always madvise [never]\n")
	}, "warning thp-never", nil},
	{"max_ptes_none and always", k515, func(w *world) { w.write(ptesNone, "511\n"); w.write(thpEnabled, "[always] madvise never\n") },
		"warning max-ptes-none, note thp-always", []string{"any memory"}},
	{"max_ptes_none and advised memory", k618, func(w *world) {
		w.write(ptesNone, "511\n")
		w.change("proc/4242/smaps", "me ac sd", "me ac sd hg")
		w.field("proc/4242/smaps", "AnonHugePages", kB(150))
	}, "warning max-ptes-none", []string{"/proc/4242/smaps"}},

	{"hugetlb", k510, func(w *world) {
		w.write(hugetlbDir+"hugepages-2048kB/nr_hugepages", "1024\n")
		w.write(hugetlbDir+"hugepages-2048kB/free_hugepages", "1000\n")
		w.write(hugetlbDir+"hugepages-2048kB/resv_hugepages", "200\n")
	}, "warning hugetlb-unused", []string{"1.562GiB", "echo 224 | sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"}},
	{"much hugetlb", k510, func(w *world) {
		w.write(hugetlbDir+"hugepages-2048kB/nr_hugepages", "2048\n")
		w.write(hugetlbDir+"hugepages-2048kB/free_hugepages", "2048\n")
	}, "problem hugetlb-unused", []string{"25.0%"}},
	{"hugetlb in use", k510, func(w *world) {
		w.write(hugetlbDir+"hugepages-2048kB/nr_hugepages", "1024\n")
		w.write(hugetlbDir+"hugepages-2048kB/free_hugepages", "200\n")
		w.write(hugetlbDir+"hugepages-2048kB/resv_hugepages", "200\n")
	}, "", nil},

	{"pieces", k61, func(w *world) {
		w.write("proc/buddyinfo", "Node 0, zone   Normal 204110 191200 90210 42210 21102 9611 1302 141 90 7 4\n")
	}, "note free-memory-in-pieces", []string{"order 9"}},
	{"pieces, little free", k61, func(w *world) {
		w.write("proc/buddyinfo",
			"Node 0, zone   Normal 4110 1200 210 0 0 0 0 0 0 0 0\n")
	}, "", nil},
	{"swappiness", k515, func(w *world) { w.field("proc/meminfo", "SwapFree", kB(1024)) }, "note swappiness",
		[]string{"60", "vm.swappiness=1"}},
	{"swappiness, low", k515, func(w *world) { w.field("proc/meminfo", "SwapFree", kB(1024)); w.write(swappiness, "10\n") }, "", nil},
	{"no swap", k515, func(w *world) {
		w.field("proc/meminfo", "SwapFree", "0 kB")
		w.field("proc/meminfo", "SwapTotal", "0 kB")
	}, "", nil},
	{"64 KiB pages", k61, func(w *world) {
		w.page = 65536
		w.write("proc/buddyinfo", bigBlocks)
		w.write(thpDir+"hpage_pmd_size", "536870912\n")
	}, "note base-page-size", []string{"64.00KiB", "512.0MiB"}},
	{"16 KiB pages", k61, func(w *world) {
		w.page = 16384
		w.write("proc/buddyinfo", bigBlocks)
		w.write(thpDir+"hpage_pmd_size", "33554432\n")
	}, "note base-page-size", []string{"16.00KiB"}},

	{"stalls", k510, func(w *world) { w.counters("compact_stall 2041", "compact_stall 2046") },
		"warning compaction-stalls", []string{"5.0 times a second"}},
	{"stalls, just not", k510, func(w *world) { w.counters("compact_stall 2041", "compact_stall 2045") }, "", nil},
	{"refused", k618, func(w *world) {
		w.counters("thp_fault_fallback 1032", "thp_fault_fallback 1042", "thp_fault_alloc 204411", "thp_fault_alloc 204421")
	}, "warning huge-pages-refused", []string{"50.0%"}},
	{"refused, few of many", k618, func(w *world) {
		w.counters("thp_fault_fallback 1032", "thp_fault_fallback 1042", "thp_fault_alloc 204411", "thp_fault_alloc 204511")
	}, "", nil},
	{"split", k68, func(w *world) { w.counters("thp_split_pmd 31022", "thp_split_pmd 31122") },
		"warning huge-pages-split", []string{"100 a second"}},
	{"split, seldom", k68, func(w *world) { w.counters("thp_split_pmd 31022", "thp_split_pmd 31041") }, "", nil},
	{"swapping", k515, func(w *world) { w.counters("pswpin 120", "pswpin 125", "pswpout 4096", "pswpout 4101") },
		"problem swapping", []string{"40.00KiB a second"}},
	{"swapping, hardly", k515, func(w *world) { w.counters("pswpin 120", "pswpin 129") }, "", nil},
	{"pressure, of the group", k515, func(w *world) {
		w.later = func() { w.change(service+"memory.pressure", "total=1200", "total=21200") }
	}, "warning memory-pressure", []string{"2.0% of the time"}},
	{"pressure, of the machine", k510, func(w *world) {
		w.later = func() { w.change("proc/pressure/memory", "total=83325", "total=283325") }
	}, "problem memory-pressure", []string{"20.0% of the time"}},

	{"full, version 2", k68, func(w *world) {
		w.write(service+"memory.current", "2100000000\n")
		w.change(service+"memory.stat", "inactive_file 62914560", "inactive_file 10000000")
	}, "warning container-full", []string{"/sys/fs/cgroup/system.slice/orders.service", "GOMEMLIMIT=1945MiB"}},
	{"full of caches", k68, func(w *world) {
		w.write(service+"memory.current", "2100000000\n")
		w.change(service+"memory.stat", "inactive_file 62914560", "inactive_file 1000000000")
	}, "", nil},
	{"full, version 1", k510, func(w *world) {
		w.write("sys/fs/cgroup/memory/system.slice/orders.service/memory.usage_in_bytes", "2100000000\n")
	},
		"warning container-full", []string{"/sys/fs/cgroup/memory/system.slice/orders.service"}},
	{"the group above is full", k68, func(w *world) {
		w.write("sys/fs/cgroup/system.slice/memory.max", "1000000000\n")
		w.write("sys/fs/cgroup/system.slice/memory.current", "990000000\n")
		w.noLimit()
		w.runtimes(func(_ int, s *goruntime.State) { s.Limit = new(int64(900e6)) })
	}, "warning container-full", []string{"/sys/fs/cgroup/system.slice:"}},
	{"tmpfs that nobody maps", k68, func(w *world) { w.charges(1000, 2000, "shared_unmapped", 240) }, "warning container-charge",
		[]string{"240.0MiB of tmpfs", "charged 1000.0MiB: tmpfs and shared memory 240.0MiB; limit 1.953GiB", "du -a /cache"}},
	{"tmpfs, far from the limit", k68, func(w *world) { w.charges(1000, 4000, "shared_unmapped", 240) }, "", nil},
	{"tmpfs without a limit", k68, func(w *world) { w.charges(1000, 0, "shared_unmapped", 240) }, "note container-charge", nil},
	{"huge pages released in part", k68, func(w *world) { w.charges(2458, 3000, "unsplit", 2240) }, "note container-charge", []string{"2.188GiB", "MADV_NOHUGEPAGE"}},
	{"processes that left", k68, func(w *world) { w.charges(1000, 2000, "anonymous_elsewhere", 500) }, "warning container-charge", []string{"500.0MiB of anonymous memory"}},
	{"a little of it", k68, func(w *world) { w.charges(1000, 1000, "shared_unmapped", 90) }, "", nil},
	{"throttled", k68, func(w *world) { w.write(service+"memory.high", "300000000\n") }, "problem container-throttled",
		[]string{"memory.high"}},

	{"THP off for it", k515, func(w *world) { w.field("proc/4242/status", "THP_enabled", "0") }, "problem thp-disabled",
		[]string{"PR_SET_THP_DISABLE", "unix.Prctl("}},
	{"THP off for it, not Go", k515, func(w *world) { w.field("proc/4242/status", "THP_enabled", "0"); w.version = "" },
		"problem thp-disabled", []string{"\nprctl("}},
	{"THP off for all", k515, func(w *world) {
		w.field("proc/4242/status", "THP_enabled", "0")
		w.remove("sys/kernel/mm/transparent_hugepage")
	}, "warning thp-missing", nil},
	{"swapped out", k618, func(w *world) { w.field("proc/4242/status", "VmSwap", kB(200)) }, "problem swapped-out",
		[]string{"200.0MiB", "A GC cycle"}},
	{"swapped out, not Go", k618, func(w *world) { w.field("proc/4242/status", "VmSwap", kB(200)); w.version = "" },
		"problem swapped-out", nil},
	{"hardly swapped out", k618, func(w *world) { w.field("proc/4242/status", "VmSwap", "1000 kB") }, "", nil},
	{"base pages", k618, func(w *world) { w.basePages(512) }, "warning heap-on-base-pages",
		[]string{"folio collapse 4242", "folio exec --thp heap -- PROGRAM", "folio/auto", "AnonHugePages: 0B"}},
	{"base pages, ptrace denied", k618, func(w *world) {
		w.basePages(512)
		w.noTrace = fmt.Errorf("ptrace: not permitted: why; %w", trial.ErrUntraced)
	}, "warning heap-on-base-pages", []string{"folio patch PROGRAM -o COPY", "(ptrace: not permitted: why)", "folio/auto"}},
	{"base pages, another machine", k618, func(w *world) { w.basePages(512); w.noTrace = errors.New("needs another") },
		"warning heap-on-base-pages", []string{"folio collapse 4242", "folio/auto"}},
	{"base pages, old kernel, not Go", k510, func(w *world) { w.basePages(512); w.version = "" },
		"warning heap-on-base-pages", []string{"GLIBC_TUNABLES"}},
	{"base pages, not large", k618, func(w *world) { w.basePages(511) }, "note heap-on-base-pages", []string{"folio/auto"}},
	{"base pages, just", k618, func(w *world) { w.basePages(64) }, "note heap-on-base-pages", []string{"FOLIO=minheap=32MiB"}},
	{"small", k618, func(w *world) { w.basePages(63) }, "", nil},
	{"half huge", k618, func(w *world) {
		w.field("proc/4242/smaps_rollup", "Anonymous", kB(512))
		w.field("proc/4242/smaps_rollup", "Pss_Anon", kB(512))
		w.field("proc/4242/smaps_rollup", "AnonHugePages", kB(256))
		w.runtimes(func(_ int, s *goruntime.State) { s.Held = new(uint64(520 << 20)) })
	}, "", nil},
	{"advised, on base pages", k515, func(w *world) { w.change("proc/4242/smaps", "me ac sd", "me ac sd hg") },
		"warning advised-not-huge", []string{"177.0MiB asked for huge pages"}},
	{"advised, can be collapsed", k618, func(w *world) { w.change("proc/4242/smaps", "me ac sd", "me ac sd hg") },
		"warning advised-not-huge", []string{"folio collapse 4242"}},
	{"opted out", k510, func(w *world) { w.change("proc/4242/smaps", "me ac sd", "me ac sd nh") }, "warning opted-out",
		[]string{"disablethp"}},
	{"forked", k618, func(w *world) {
		w.field("proc/4242/smaps_rollup", "Pss_Anon", kB(88))
		w.field("proc/4242/smaps_rollup", "AnonHugePages", kB(150))
		w.write("proc/4300/stat", strings.NewReplacer("4242 (orders) S 1 ", "4300 (orders) S 4242 ").Replace(ordersStat))
		w.write("proc/4301/stat", strings.NewReplacer("4242 (orders) S 1 ", "4301 (other) S 4242 ").Replace(ordersStat))
	}, "warning fork-copies", []string{"splits it", "children under the same name: 4300", "176.0MiB"}},
	{"forked, not huge", k618, func(w *world) {
		w.basePages(176)
		w.field("proc/4242/smaps_rollup", "Pss_Anon",
			kB(88))
	}, "note heap-on-base-pages", nil},
	{"forked, before 5.8", k510, func(w *world) {
		w.write("proc/sys/kernel/osrelease", "5.4.0-150-generic\n")
		w.field("proc/4242/smaps_rollup", "Pss_Anon", kB(88))
		w.field("proc/4242/smaps_rollup", "AnonHugePages", kB(150))
	}, "problem fork-copies", []string{"512 times", "5.4.0-150-generic"}},
	{"lazily freed", k515, func(w *world) { w.field("proc/4242/smaps_rollup", "LazyFree", kB(64)) },
		"note freed-but-resident", []string{"GODEBUG=madvdontneed=1"}},
	{"mappings", k515, func(w *world) { w.write("proc/sys/vm/max_map_count", "5\n") }, "warning too-many-mappings",
		[]string{"4 mappings of at most 5", "vm.max_map_count=20"}},

	{"go1.21.0", k515, func(w *world) { w.version = "go1.21.0" }, "problem go-huge-page-faults", []string{"MADV_HUGEPAGE", "issues/61718"}},
	{"go1.21rc2", k515, func(w *world) { w.version = "go1.21rc2" }, "problem go-huge-page-faults", nil},
	{"go1.21.1", k515, func(w *world) { w.version = "go1.21.1" }, "problem go-huge-page-faults", []string{"MADV_COLLAPSE", "issues/63334"}},
	{"go1.21.3, with an experiment", k515, func(w *world) { w.version = "go1.21.3 X:boringcrypto" }, "problem go-huge-page-faults", nil},
	{"go1.21.4", k515, func(w *world) { w.version = "go1.21.4" }, "", nil},
	{"go1.20.14", k515, func(w *world) { w.version = "go1.20.14" }, "", nil},

	{"limit too low", k515, func(w *world) { w.runtimes(func(_ int, s *goruntime.State) { s.Marked = new(uint64(1500 << 20)) }) },
		"problem go-limit-too-low", []string{"83.3%"}},
	{"limit too low for a moment", k515, func(w *world) {
		w.runtimes(func(i int, s *goruntime.State) { s.Marked = new([]uint64{1500 << 20, 900 << 20, 1500 << 20}[i]) })
	}, "", nil},
	{"collector off", k61, func(w *world) {
		w.noLimit()
		w.runtimes(func(i int, s *goruntime.State) {
			unlimited(i,
				s)
			s.Percent = new(-1)
		})
	}, "problem go-collector-off", []string{"GOGC is off"}},
	{"collector off, with a limit", k61, func(w *world) { w.runtimes(func(_ int, s *goruntime.State) { s.Percent = new(-1) }) }, "", nil},
	{"collector off, by the environment", k61, func(w *world) {
		w.noState = goruntime.ErrNoDebugInfo
		w.change("proc/4242/environ", "GOMEMLIMIT=1800MiB", "GOGC=off")
	}, "problem go-collector-off", []string{"GOGC=off", "no GOMEMLIMIT"}},

	{"tiny", k618, func(w *world) {
		w.runtimes(func(i int, s *goruntime.State) { s.Cycles, s.Marked = uint32(100+50*i), new(uint64(16<<20)) })
	}, "warning go-tiny-heap", []string{"100 GC cycles a second with a live heap of 16.00MiB", "GOGC=400"}},
	{"tiny, and the count wraps around", k618, func(w *world) {
		w.runtimes(func(i int, s *goruntime.State) { s.Cycles, s.Marked = 1<<32-30+uint32(25*i-25)+25, new(uint64(1<<20)) })
	}, "warning go-tiny-heap", []string{"50 GC cycles a second"}},
	{"tiny, seldom", k618, func(w *world) {
		w.runtimes(func(i int, s *goruntime.State) { s.Cycles, s.Marked = uint32(100+24*i), new(uint64(1<<20)) })
	}, "", nil},
	{"not tiny", k618, func(w *world) {
		w.runtimes(func(i int, s *goruntime.State) { s.Cycles, s.Marked = uint32(100+50*i), new(uint64(16<<20+1)) })
	}, "", nil},
	{"tiny, sampled", k618, func(w *world) { w.sampled(0.4, 500) }, "warning go-tiny-heap",
		[]string{"40.0% of its CPU time", "could not be read"}},
	{"sampled, little collection", k618, func(w *world) { w.sampled(0.09, 500) }, "", nil},
	{"sampled, few samples", k618, func(w *world) { w.sampled(0.4, profile.Fewest-1) }, "", nil},
	{"sampled, idle", k618, func(w *world) { w.sampled(0.4, 500); w.samples.CPU = 0.04 }, "", nil},
	{"sampled, no small process", k618, func(w *world) { w.sampled(0.4, 500); w.field("proc/4242/status", "RssAnon", kB(65)) }, "", nil},

	{"returned memory, in parts", k618, func(w *world) {
		w.parts(map[waterfall.Kind]int64{waterfall.Live: 90, waterfall.Repopulated: 50, waterfall.Rounding: 14})
	}, "warning go-returned-memory", []string{"Reclaimable: up to 64.00MiB of 154.0MiB", "huge pages beyond the heap: 14.00MiB", "disablethp=1"}},
	{"returned memory of a large heap", k618, func(w *world) {
		w.parts(map[waterfall.Kind]int64{waterfall.Live: 900, waterfall.Repopulated: 99})
	}, "", nil},
	{"goroutines, in parts", k618, func(w *world) {
		w.parts(map[waterfall.Kind]int64{waterfall.Live: 90, waterfall.Stacks: 64})
	}, "note go-goroutine-stacks", []string{"Stacks of goroutines take 64.00MiB"}},
	{"free memory", k618, func(w *world) {
		w.parts(map[waterfall.Kind]int64{waterfall.Live: 90, waterfall.Free: 640})
	}, "note go-free-memory", []string{"640.0MiB of the heap is free", "debug.FreeOSMemory()"}},
	{"fragmentation", k618, func(w *world) {
		w.parts(map[waterfall.Kind]int64{waterfall.Live: 90, waterfall.Unused: 64})
	}, "note go-fragmentation", []string{"64.00MiB are free between objects"}},
	{"arenas of malloc", k618, func(w *world) {
		w.parts(map[waterfall.Kind]int64{waterfall.Live: 90, waterfall.Malloc: 64})
	}, "note malloc-arenas", []string{"MALLOC_ARENA_MAX=2"}},
	{"returned memory", k618, func(w *world) {
		w.noParts = errors.New("no parts")
		w.write(ptesNone, "511\n")
		w.field("proc/4242/smaps_rollup", "Anonymous", kB(400))
		w.field("proc/4242/smaps_rollup", "Pss_Anon", kB(400))
		w.field("proc/4242/smaps_rollup", "AnonHugePages", kB(300))
	}, "warning go-returned-memory, note max-ptes-none", []string{"230.0MiB are resident", ptesNone + ": 511"}},
	{"memory of no huge pages", k618, func(w *world) {
		w.noParts = errors.New("no parts")
		w.basePages(400)
	}, "note heap-on-base-pages", nil},
	{"goroutines", k618, func(w *world) {
		w.noParts = errors.New("no parts")
		w.runtimes(func(_ int, s *goruntime.State) {
			s.Held, s.Stacks, s.Goroutines = new(uint64(640<<20)), new(uint64(64<<20)), 12345
		})
	}, "note go-goroutine-stacks", []string{"64.00MiB of the 640.0MiB", "at most 12,345 goroutines", "debug/pprof/goroutineleak"}},
	{"goroutines, in a large heap", k618, func(w *world) {
		w.noParts = errors.New("no parts")
		w.runtimes(func(_ int, s *goruntime.State) { s.Held, s.Stacks = new(uint64(640<<20+10)), new(uint64(64<<20)) })
	}, "", nil},
	{"few goroutines", k618, func(w *world) {
		w.noParts = errors.New("no parts")
		w.runtimes(func(_ int, s *goruntime.State) { s.Held, s.Stacks = new(uint64(200<<20)), new(uint64(64<<20-1)) })
	}, "", nil},
	{"finalizers wait", k618, func(w *world) {
		w.pending = []goruntime.Pending{{Finalizers: 1000}, {Finalizers: 1200, Cleanups: new(uint64(300)), Functions: []goruntime.PendingFunc{{Frame: symbol.Frame{Func: "main.closeFile"}, Count: 1100}}}}
	}, "warning go-finalizers-wait", []string{"1,500 finalizers and cleanups wait", "1,000 waited at first, 1,500 after", "1,100 of them call main.closeFile", "folio leaks 4242"}},
	{"finalizers that are soon gone", k618, func(w *world) {
		w.pending = []goruntime.Pending{{Finalizers: 50000}, {Finalizers: 999}}
	}, "", nil},
	{"disablethp", k515, func(w *world) {
		w.change("proc/4242/environ", "HOME=/",
			"GODEBUG=http2client=0,disablethp=1")
	}, "warning go-disablethp", []string{"disablethp=1"}},
	{"disablethp=0", k515, func(w *world) { w.change("proc/4242/environ", "HOME=/", "GODEBUG=disablethp=1,disablethp=0") }, "", nil},
}

// unlimited has a process that nothing gave a memory limit.
func (w *world) unlimited() {
	w.noLimit()
	w.runtimes(unlimited)
}

// noLimit takes GOMEMLIMIT out of the environment.
func (w *world) noLimit() { w.change("proc/4242/environ", "GOMEMLIMIT=1800MiB", "A=b") }

func unlimited(_ int, s *goruntime.State) { s.Limit = new(int64(1<<63 - 1)) }

func (w *world) sampled(share float64, samples uint64) {
	w.noState = goruntime.ErrNoDebugInfo
	w.field("proc/4242/status", "RssAnon", "9000 kB")
	w.samples = collecting(share, samples)
}

// bigBlocks is of a kernel with more orders, for its larger huge pages.
const bigBlocks = "Node 0, zone   Normal 411 120 21 9 4 2 1 0 0 0 3 2 4 20\n"

// basePages gives the process so many MiB of its own, none of it on huge pages.
func (w *world) basePages(mib int) {
	for field, n := range map[string]int{"Anonymous": mib, "Pss_Anon": mib, "AnonHugePages": 0} {
		w.field("proc/4242/smaps_rollup", field, kB(n))
	}
}

const ordersStat = "4242 (orders) S 1 4242 4242 0 -1 4194560 81233 0 12 0 5123 811 0 0 20 0 11 0 412233 1881890816 50176 0 0\n"

func TestRulesFire(t *testing.T) {
	fired := make(map[string]bool)
	for _, tt := range slices.Concat(firing, firingSettings, firingLimits) {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			w := newWorld(t, tt.fixture)
			tt.change(w)
			d := w.diagnose(orders)
			got := d.found()
			if strings.Join(got, ", ") != tt.want {
				t.Fatalf("found %q, want %q; unknown %q", got, tt.want, d.unknown())
			}
			if len(d.Findings) == 0 {
				return
			}
			for _, h := range d.Findings {
				fired[h.Rule] = true
				complete(t, h)
			}
			text := said(d.Findings[0])
			for _, s := range tt.says {
				if !strings.Contains(text, s) {
					t.Errorf("no %q in:\n%s", s, text)
				}
			}
			if w.noTrace != nil && strings.Contains(text, "folio exec --") {
				t.Errorf("what is not possible is advised in:\n%s", text)
			}
		})
	}
	for _, r := range Rules() {
		if !fired[r.ID] {
			t.Errorf("%s never found anything", r.ID)
		}
	}
}

// complete checks that a finding says all that it has to.
func complete(t *testing.T, h Finding) {
	t.Helper()
	sentence := func(s string) bool { return s != "" && s[len(s)-1] == '.' }
	if !sentence(h.What) || !sentence(h.Means) || len(h.Evidence) == 0 || len(h.Fix) == 0 || !strings.HasPrefix(h.Reference, "https://") {
		t.Errorf("incomplete: %+v", h)
	}
	for _, e := range h.Evidence {
		if e.From == "" || e.Says == "" {
			t.Errorf("%s: empty evidence: %+v", h.Rule, h.Evidence)
		}
	}
	if !slices.ContainsFunc(h.Fix, func(s Step) bool { return s.Code != "" }) && h.Rule != "thp-missing" {
		t.Errorf("%s: no exact command or code: %+v", h.Rule, h.Fix)
	}
	for _, s := range h.Fix {
		if s.Do == "" {
			t.Errorf("%s: a step without words", h.Rule)
		}
	}
}

func said(h Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s\n", h.What, h.Means, h.Reference)
	for _, e := range h.Evidence {
		fmt.Fprintf(&b, "%s: %s\n", e.From, e.Says)
	}
	for _, s := range h.Fix {
		fmt.Fprintf(&b, "%s\n%s\n", s.Do, s.Code)
	}
	return b.String()
}

func TestPolicy(t *testing.T) {
	for word, want := range map[string]string{"[always] madvise never": "THP always:",
		"always [madvise] never": "THP madvise:", "always madvise [never]": "THP never:", "x": ""} {
		w := newWorld(t, k61)
		w.write(thpEnabled, word+"\n")
		f, err := w.read(0)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Policy(); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", word, got)
		}
	}
}

// MADV_COLLAPSE is spoken of only where the kernel has it.
func TestNeverAndCollapse(t *testing.T) {
	for name, want := range map[string]bool{k510: false, k618: true} {
		w := newWorld(t, name)
		w.write(thpEnabled, "always madvise [never]\n")
		if got := strings.Contains(w.diagnose(0).finding(t, "thp-never").Means, "MADV_COLLAPSE"); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
