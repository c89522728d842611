package remedy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/advice"
	"github.com/foliomem/folio/internal/base/unit"
)

const (
	docLimit  = "https://go.dev/doc/gc-guide#Memory_limit"
	docGOGC   = "https://go.dev/doc/gc-guide#GOGC"
	docPprof  = "https://pkg.go.dev/net/http/pprof"
	docDebug  = "https://pkg.go.dev/runtime/debug#FreeOSMemory"
	docArena  = "https://www.gnu.org/software/libc/manual/html_node/Memory-Allocation-Tunables.html"
	docMalloc = "https://man7.org/linux/man-pages/man3/malloc_trim.3.html"
	docProc   = "https://docs.kernel.org/filesystems/proc.html"
)

var rules = []rule{
	{"go-live-heap", inUse, liveHeap},
	{"go-memory-limit", some, memoryLimit},
	{"go-gogc", some, gogc},
	{"go-free-memory", waste, freeMemory},
	{"go-fragmentation", waste, fragmentation},
	{"go-returned-memory", waste, returned},
	{"go-goroutine-stacks", waste, stacks},
	{"go-metadata", some, metadata},
	{"malloc-arenas", waste, arenas},
	{"malloc-trim", some, trim},
	{"allocator-cache", some, allocators},
	{"other-memory", inUse, other},
	{"named-memory", inUse, named},
	{"thread-stacks", some, threads},
	{"shared-memory", some, shared},
	{"program-variables", inUse, variables},
	{"uncharged-pages", some, uncharged},
	{"file-pages", inUse, files},
}

// mostSites is how many sites are named.
const mostSites = 3

func liveHeap(f *Facts) (out []Remedy) {
	live := f.part(waterfall.Live)
	for _, s := range f.Sites[:min(len(f.Sites), mostSites)] {
		if min(s.Bytes, live) < Worth(f.Waterfall.RSS) {
			break
		}
		m := Remedy{
			Title: "Live heap of one call site",
			Of:    []Share{{waterfall.Live, s.Bytes}}, Subject: s.Name, What: "One call site",
			Means: "The figure is an estimate by the heap profile of the program, which samples one allocation in 512KiB if the program does not say otherwise.",
			Do:    "Find what keeps what is allocated at:", See: docPprof,
		}
		switch s.Name {
		case callsite.Runtime:
			m.Title, m.What, m.Subject = "Live heap of the runtime itself", "The runtime itself", ""
			m.Means += " Descriptors of goroutines are a part of it: the runtime keeps as many as there were goroutines at once."
			m.Do, m.Code = "Bound how many goroutines there are at once. See what they are"+whileRuns(f.PID)+":", "folio inspect --goroutines "+pidText(f.PID)
		case callsite.Unknown:
			m.Title, m.What, m.Subject = "Live heap of call sites without names", "Call sites without names", ""
			m.Do, m.Code = "See their stacks"+whileRuns(f.PID)+":", "folio inspect --heap heap.pprof "+pidText(f.PID)
		}
		m.What += fmt.Sprintf(" allocated %s of the live heap, in %s", unit.Size(s.Bytes), unit.Plural(int(min(s.Count, 1<<40)), "object"))
		if s.Bytes > live {
			m.What += fmt.Sprintf("; at most %s of it is in memory", unit.Size(live))
		}
		m.What += "."
		out = append(out, m)
	}
	if len(out) > 0 {
		return out
	}
	m := Remedy{
		Title: "Live heap",
		Of:    []Share{{waterfall.Live, live}}, What: fmt.Sprintf("The last GC cycle found %s of objects in use.%s", unit.Size(live), f.grows()),
		Means: "Only the program can drop them: caches, queues, maps that are never emptied. A heap profile names the lines that allocated them.",
		Do:    "Read its heap profile from outside" + whileRuns(f.PID) + ":", Code: "folio inspect --heap heap.pprof " + pidText(f.PID), See: docPprof,
	}
	switch {
	case errors.Is(f.NoSites, goruntime.ErrUnlinked):
		m.Means += " This program keeps none: nothing in it reads runtime.MemProfile, so the linker switched it off. The import opens no port."
		m.Do, m.Code = "To see which lines keep it, build it again with this import:", `import _ "net/http/pprof"`
	case f.NoSites != nil:
		m.Means += " Its own could not be read: " + f.NoSites.Error() + "."
		m.Do, m.Code = "Have the program write one, by runtime/pprof:", `pprof.Lookup("heap").WriteTo(file, 0)`
		if errors.Is(f.NoSites, goruntime.ErrNoHeapProfile) {
			m.Do, m.Code = "To see which lines keep it, leave runtime.MemProfileRate and GODEBUG=memprofilerate at their defaults.", ""
		}
	case f.Sites != nil:
		m.Means += " Its own names no single line that keeps much."
	}
	return []Remedy{m}
}

// grows says how to find out whether the live heap keeps growing.
func (f *Facts) grows() string {
	if f.PID == 0 {
		return ""
	}
	return fmt.Sprintf(" Whether they keep growing: folio leaks %d.", f.PID)
}

// room is what a limit must leave above what no GC cycle can free, so that cycles do not
// come one after the other: a quarter of the live heap, and at least 16 MiB.
func room(live uint64) uint64 { return max(live/4, 16<<20) }

// Limit returns a memory limit for the program: the least at which the GC does not run all
// the time.
func (f *Facts) Limit() uint64 {
	var fixed uint64
	for _, k := range []waterfall.Kind{waterfall.Live, waterfall.Unused, waterfall.Stacks, waterfall.Metadata} {
		fixed += f.held(k)
	}
	const whole = 1<<20 - 1
	return (fixed + room(f.held(waterfall.Live)) + whole) &^ whole
}

func memoryLimit(f *Facts) []Remedy {
	gc := f.Waterfall.GC
	if gc == nil {
		return nil
	}
	least := f.Limit()
	if gc.Limit != nil && *gc.Limit <= least {
		return nil
	}
	var held uint64
	for _, k := range []waterfall.Kind{waterfall.Live, waterfall.Since, waterfall.Unused, waterfall.Free, waterfall.Stacks, waterfall.Metadata} {
		held += f.held(k)
	}
	excess := over(held, least)
	free := min(excess, f.part(waterfall.Free))
	is := "no memory limit"
	if gc.Limit != nil {
		is = "a memory limit of " + unit.Size(*gc.Limit)
	}
	m := Remedy{
		Of:   []Share{{waterfall.Free, free}, {waterfall.Since, excess - free}},
		What: fmt.Sprintf("The Go runtime holds %s, and has %s. Only for a live heap that does not grow: where it grows beyond the limit, the GC takes up to half of the CPU time.", unit.Size(held), is),
		Means: fmt.Sprintf("A limit of %s leaves %s for garbage above what is in use now: GC cycles come as often as that is allocated.",
			unit.Exact(least), unit.Size(room(f.held(waterfall.Live)))),
		See: docLimit,
	}
	m.limit(f.PID, unit.Exact(least))
	switch {
	case f.Fit == nil:
	case f.Fit.Most >= least:
		m.Means += fmt.Sprintf(" The container has room for %s: %s", f.Fit.Setting(), f.Fit.Reason())
	case f.Fit.Most > 0:
		m.Means += fmt.Sprintf(" The container has room for %s only: %s", f.Fit.Setting(), f.Fit.Reason())
		m.limit(f.PID, strings.TrimPrefix(f.Fit.Setting(), "GOMEMLIMIT="))
	default:
		m.Means += " " + f.Fit.Reason()
		m.Title = "Free what is outside the Go runtime"
		m.Do, m.Code = "Free what is elsewhere, or raise the limit of the container.", ""
	}
	return []Remedy{m}
}

// limit advises a memory limit: now, where the process runs, and for its next start.
func (m *Remedy) limit(pid int, size string) {
	m.Title = "Set a memory limit of " + size
	m.set(pid, "--memlimit "+size, "GOMEMLIMIT="+size)
}

// set advises a setting of the GC, by a flag of folio set where the process runs.
func (m *Remedy) set(pid int, flag, next string) {
	m.Do, m.Code = "In the environment of the next start:", next
	if pid > 0 {
		m.Do, m.Code = "Set it now; for the next start, "+next+" in its environment:", fmt.Sprintf("folio set %s %d", flag, pid)
	}
}

// scavenged is the free memory that the runtime keeps above the goal of the next cycle.
const scavenged = 0.1

func gogc(f *Facts) []Remedy {
	gc := f.Waterfall.GC
	if gc == nil {
		return nil
	}
	// Half the room, or the default for a GC that is off or set to more.
	target := 50
	if gc.Percent > 100 || gc.Percent < 0 {
		target = 100
	}
	if gc.Percent >= 0 && gc.Percent <= target {
		return nil
	}
	base := f.held(waterfall.Live) + f.held(waterfall.Stacks) // globals are few
	room := uint64(float64(base) * float64(target) / 100)
	goal := f.held(waterfall.Live) + room
	m := Remedy{
		Of: []Share{{waterfall.Since, over(f.part(waterfall.Since), room)},
			{waterfall.Free, over(f.part(waterfall.Free), uint64(scavenged*float64(goal)))}},
		What: fmt.Sprintf("GOGC is %d: the heap grows to %s of the live heap before it is collected.", gc.Percent, unit.Percent(1+float64(gc.Percent)/100)),
		Means: fmt.Sprintf("At %d there are %s times as many GC cycles, of the same cost each. What each setting costs is measured by folio tune.",
			target, unit.Rate(float64(gc.Percent)/float64(target))),
		Title: fmt.Sprintf("Lower GOGC to %d", target), See: docGOGC,
	}
	m.set(f.PID, fmt.Sprintf("--gogc %d", target), fmt.Sprintf("GOGC=%d", target))
	if gc.Percent < 0 {
		m.Title = "Turn the GC on"
		m.What, m.Means = "The GC is off (GOGC=off).", "Garbage is collected at the memory limit only."
	}
	return []Remedy{m}
}

func freeMemory(f *Facts) []Remedy {
	free := f.part(waterfall.Free)
	if free < Worth(f.Waterfall.RSS) {
		return nil
	}
	since, what := f.part(waterfall.Since), fmt.Sprintf("%s of the heap is free, and was not returned to the OS", unit.Size(free))
	if since > 0 {
		what += fmt.Sprintf("; %s more may be garbage", unit.Size(since))
	}
	return []Remedy{{
		Title: "Return free memory to the OS",
		Of:    []Share{{waterfall.Free, free}, {waterfall.Since, since}},
		What:  what + ".",
		Means: "The runtime returns what is more than 10% above its next goal in the background, with at most 1% of a CPU. FreeOSMemory collects and returns all at once, stops for the length of a GC cycle, and what is used again costs page faults.",
		Do:    "After a peak, such as a large request or loading data, call:", Code: "debug.FreeOSMemory()", See: docDebug,
	}}
}

func fragmentation(f *Facts) []Remedy {
	unused := f.part(waterfall.Unused)
	m := Remedy{
		Title: "Keep long-lived objects apart",
		Of:    []Share{{waterfall.Unused, unused}},
		What:  fmt.Sprintf("%s are free between objects, in pages that other objects keep.", unit.Size(unused)),
		Means: "The heap uses it for objects of the same size class only; a page is released when its last object is dead.",
		Do:    "Keep objects that live long apart from those that do not: allocate them together and early, or in an arena. Of a profile of allocations, see which call sites would gain from one:",
		Code:  "folio suggest --profile allocs.pprof", See: "https://pkg.go.dev/github.com/foliomem/folio/arena",
	}
	if c := f.Waterfall.Classes; len(c) > 0 && c[0].Unused > 0 {
		of := "large objects"
		if c[0].Size > 0 {
			of = fmt.Sprintf("objects of %s", unit.Size(c[0].Size))
		}
		m.What = fmt.Sprintf("%s are free between objects, in pages that other objects keep; most, %s, for %s.", unit.Size(unused),
			unit.Size(min(c[0].Unused, unused)), of)
	}
	return []Remedy{m}
}

func returned(f *Facts) []Remedy {
	again, around := f.part(waterfall.Repopulated), f.part(waterfall.Rounding)
	m := Remedy{
		Title: "Keep returned memory out of huge pages",
		Of:    []Share{{waterfall.Repopulated, again}, {waterfall.Rounding, around}},
		What:  fmt.Sprintf("%s that the Go runtime has returned, or never used, are in memory.", unit.Size(again+around)),
		Means: "They are in huge pages with memory that is in use. The runtime cannot return them again before it has used them.",
		See:   "https://go.dev/doc/gc-guide#Linux_THP_max_ptes_none_workaround",
	}
	if a, ok := advice.ByID("max-ptes-none", &f.THP); ok {
		m.Means += " khugepaged fills such holes in the background: max_ptes_none says how large they may be. What it has filled stays until the program is restarted."
		m.Do, m.Code, m.See = a.Do, a.Code, a.See
	} else {
		m.Means += " khugepaged does not fill holes here, so page faults did: each makes a whole huge page."
		m.Do, m.Code = "Without huge pages for its heap there is none of it (Go 1.21.6 and later):", "GODEBUG=disablethp=1"
	}
	return []Remedy{m}
}

func stacks(f *Facts) (out []Remedy) {
	n := f.part(waterfall.Stacks)
	if f.Creators == nil {
		m := Remedy{
			Title: "Bound the number of goroutines",
			Of:    []Share{{waterfall.Stacks, n}},
			What:  fmt.Sprintf("Stacks of goroutines take %s.", unit.Size(n)),
			Means: "Each GC cycle scans them. A goroutine that waits for ever (a leak) keeps its stack, and all that it points to. A stack that was large once is halved by each GC cycle that finds less than a quarter in use.",
			Do:    "See where goroutines wait, and which lines began them" + whileRuns(f.PID) + ":", Code: "folio inspect --goroutines " + pidText(f.PID), See: "https://pkg.go.dev/runtime/pprof#Profile",
		}
		if f.NoCreators != nil {
			m.Means += " They could not be read: " + f.NoCreators.Error() + "."
			m.Do, m.Code = "Have the program write where they wait, by runtime/pprof:", `pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)`
		}
		if strings.HasPrefix(f.GoVersion, "go1.27") {
			m.Means += " Its profile goroutineleak lists those that can never go on."
		}
		return []Remedy{m}
	}
	for _, s := range f.Creators[:min(len(f.Creators), mostSites)] {
		out = append(out, Remedy{
			Title: "Bound the goroutines of one go statement",
			Of:    []Share{{waterfall.Stacks, s.Bytes}}, Subject: s.Name,
			What:  fmt.Sprintf("%s goroutines of one go statement have at most %s of stacks.", unit.Count(float64(s.Count)), unit.Size(min(s.Bytes, n))),
			Means: "Each GC cycle scans them. A goroutine that waits for ever (a leak) keeps its stack, and all that it points to.",
			Do:    "Bound how many there are, or have them end, of:", See: "https://pkg.go.dev/runtime/pprof#Profile",
		})
	}
	return out
}

func metadata(f *Facts) []Remedy {
	n := f.part(waterfall.Metadata)
	return []Remedy{{
		Title: "Lower the peak of the heap",
		Of:    []Share{{waterfall.Metadata, n}},
		What:  fmt.Sprintf("Go runtime metadata: %s.", unit.Size(n)),
		Means: "Bitmaps, descriptions of spans, and buckets of profiles grow with the largest heap that there was, with goroutines and with call sites, and are never returned.",
		Do:    "Lower the peak of the heap; where there are many call sites, profile less of them (runtime.MemProfileRate), and restart the program.",
		See:   "https://pkg.go.dev/runtime#MemStats",
	}}
}
