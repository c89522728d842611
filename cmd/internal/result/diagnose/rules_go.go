package diagnose

import (
	"errors"
	"fmt"
	"go/version"
	"math"
	"strings"

	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/base/unit"
)

// goRules are about Go programs. What the runtime has in effect counts more
// than the environment: a program can set its limits itself.
var goRules = []Rule{
	{
		ID: "go-huge-page-faults", Title: "this version of Go stalls on huge pages", Scope: OfGo, Severity: Problem,
		Reads: []string{"build information of /proc/PID/exe"}, Reference: "https://github.com/golang/go/issues/63334", look: lookVersion,
	}, {
		ID: "go-no-memory-limit", Title: "the container has a memory limit, the program has none", Scope: OfGo, Severity: Warning,
		Reads: readsLimit, Reference: docGuideLimit, look: lookNoLimit,
	}, {
		ID: "go-limit-above-container", Title: "the program's memory limit does not fit into the container", Scope: OfGo, Severity: Problem,
		Reads: readsLimit, Reference: docGuideLimit, look: lookLimitAbove,
	}, {
		ID: "go-limit-too-low", Title: "the live heap fills the memory limit", Scope: OfGo, Severity: Problem,
		Reads: []string{fromRuntime}, Reference: "https://github.com/golang/go/issues/58106", look: lookLimitLow,
	}, {
		ID: "go-collector-off", Title: "the GC is off, and nothing limits the heap", Scope: OfGo, Severity: Problem,
		Reads: []string{fromRuntime, "/proc/PID/environ"}, Reference: docGuideLimit, look: lookCollectorOff,
	}, {
		ID: "go-tiny-heap", Title: "a tiny heap is collected many times a second", Scope: OfGo, Severity: Warning,
		Reads:     []string{fromRuntime, "samples (perf_event_open)"},
		Reference: docTinyHeap, look: lookTiny,
	}, {
		ID: "go-returned-memory", Title: "memory that Go has returned is resident", Scope: OfGo, Severity: Warning,
		Reads:     []string{fromRuntime, "/proc/PID/smaps_rollup"},
		Reference: "https://go.dev/doc/gc-guide#Linux_THP_max_ptes_none_workaround", look: lookReturned,
	}, {
		ID: "go-goroutine-stacks", Title: "goroutines hold much memory", Scope: OfGo, Severity: Note,
		Reads: []string{fromRuntime}, Reference: "https://pkg.go.dev/runtime/pprof#Profile", look: lookStacks,
	}, {
		ID: "go-finalizers-wait", Title: "finalizers and cleanups wait to run", Scope: OfGo, Severity: Warning,
		Reads: []string{fromRuntime}, Reference: "https://pkg.go.dev/runtime#SetFinalizer", look: lookFinalizers,
	}, {
		ID: "go-free-memory", Title: "free memory of the Go heap was not returned to the OS", Scope: OfGo, Severity: Note,
		Reads: []string{fromRuntime, fromPages}, Reference: "https://pkg.go.dev/runtime/debug#FreeOSMemory", look: wastes("go-free-memory"),
	}, {
		ID: "go-fragmentation", Title: "the Go heap is fragmented", Scope: OfGo, Severity: Note,
		Reads: []string{fromRuntime, fromPages}, Reference: "https://go.dev/doc/gc-guide", look: wastes("go-fragmentation"),
	}, {
		ID: "go-disablethp", Title: "GODEBUG keeps the Go heap off huge pages", Scope: OfGo, Severity: Warning,
		Reads: []string{"/proc/PID/environ"}, Reference: docEnvironment, look: lookDisableTHP,
	}, {
		ID: "go-setting-ignored", Title: "the Go runtime does not read a setting of the environment", Scope: OfGo, Severity: Warning,
		Reads: []string{"/proc/PID/environ", fromRuntime}, Reference: docEnvironment, look: lookIgnored,
	}, {
		ID: "go-setting-overridden", Title: "the program overrides a setting of its environment", Scope: OfGo, Severity: Note,
		Reads: []string{"/proc/PID/environ", fromRuntime}, Reference: docEnvironment, look: lookOverridden,
	},
}

// readsLimit is what the rules on the limits of program and container read.
var readsLimit = []string{"memory.max, memory.stat, cgroup.procs of the cgroups", fromRuntime, "/proc/PID/environ"}

const (
	fromRuntime    = "the runtime's memory (/proc/PID/mem)"
	docEnvironment = "https://pkg.go.dev/runtime#hdr-Environment_Variables"
)

// runtime is a reading of the runtime's own variables.
func (p *Process) runtime(format string, args ...any) Reading {
	return Reading{fmt.Sprintf("the runtime of process %d", p.PID), fmt.Sprintf(format, args...)}
}

// release is the Go release that the program was built by, "" if it was none.
func (p *Process) release() string {
	v, _, _ := strings.Cut(p.GoVersion.Value, " ") // behind it are experiments
	if !version.IsValid(v) {
		return ""
	}
	return v
}

func lookVersion(f *Facts) ([]Finding, error) {
	v := f.Process.GoVersion.Value
	lang := f.Process.release()
	if lang == "" {
		return nil, fmt.Errorf("%q is not a release of Go", v)
	}
	if version.Compare(lang, "go1.21rc1") < 0 || version.Compare(lang, "go1.21.4") >= 0 {
		return nil, nil
	}
	h := Finding{
		What:     fmt.Sprintf("%s stalls on huge pages.", lang),
		Evidence: []Reading{{"build information of " + f.Process.file("exe"), v}},
		Means:    "Go 1.21.1 to 1.21.3 collapse the heap into huge pages (MADV_COLLAPSE) with a lock held: when memory is short, the whole program waits for the kernel.",
		Fix:      []Step{{Do: "Build it with Go 1.21.4 or newer:", Code: "go get go@1.21.13 && go build"}},
	}
	if version.Compare(lang, "go1.21.1") < 0 {
		h.Means = "Go 1.21.0 asks for huge pages for the whole heap (MADV_HUGEPAGE): faults that wait for one took 333 ms instead of 0.6 ms."
		h.Reference = "https://github.com/golang/go/issues/61718"
	}
	return []Finding{h}, nil
}

func lookLimitLow(f *Facts) ([]Finding, error) {
	const full = 0.8
	p := f.Process
	r, err := p.Runtime.get()
	if err != nil {
		return nil, err
	}
	s := r.After
	if s.Limit == nil || r.Live == nil {
		return nil, errors.New(p.GoVersion.Value + " has no memory limit: it needs Go 1.19")
	}
	if unlimited, _ := s.Unlimited(); unlimited || *s.Limit <= 0 || float64(*r.Live) < full*float64(*s.Limit) {
		return nil, nil
	}
	h := Finding{
		What:     fmt.Sprintf("The live heap fills %s of the memory limit.", unit.Percent(float64(*r.Live)/float64(*s.Limit))),
		Evidence: []Reading{p.runtime("memory limit %s, live heap %s", unit.Size(uint64(*s.Limit)), unit.Size(*r.Live))},
		Means:    "Garbage fills the rest quickly, so GC cycles follow one another: they take up to half of the CPU time, and goroutines that allocate wait for them.",
		Fix:      []Step{{Do: "Raise the limit, or keep less alive. To measure what each limit costs:", Code: "folio tune -- ./program"}},
	}
	if f.Watched > 0 {
		h.Evidence = append(h.Evidence, p.runtime("%s GC cycles a second, over %s",
			unit.Rate(f.cycles(r.Before.Cycles, s.Cycles)), unit.Seconds(f.Watched.Seconds())))
	}
	return []Finding{h}, nil
}

// cycles is a rate of GC cycles. The count wraps around.
func (f *Facts) cycles(before, after uint32) float64 {
	return float64(after-before) / f.Watched.Seconds()
}

func lookCollectorOff(f *Facts) ([]Finding, error) {
	p := f.Process
	var off Reading
	if r, err := p.Runtime.get(); err == nil && r.After.Percent != nil {
		if *r.After.Percent >= 0 {
			return nil, nil
		}
		off = p.runtime("GOGC is off")
	} else {
		value, _, err := p.env("GOGC")
		if err != nil || value != "off" {
			return nil, err
		}
		off = Reading{p.file("environ"), "GOGC=off"}
	}
	limit, from, _, err := p.memoryLimit()
	if err != nil || limit < math.MaxInt64 {
		return nil, err
	}
	return []Finding{{
		What:     "The GC is off, and nothing limits the heap.",
		Evidence: []Reading{off, from},
		Means:    "The heap grows until the kernel kills the program, and each page of it is a page fault." + p.unsure(),
		Fix:      []Step{{Do: "Set a limit, at which GC cycles then start:", Code: "GOGC=off GOMEMLIMIT=2GiB"}},
	}}, nil
}

func lookTiny(f *Facts) ([]Finding, error) {
	p := f.Process
	r, err := p.Runtime.get()
	if err != nil {
		return lookTinySampled(f, err)
	}
	if f.Watched <= 0 {
		return nil, errNotWatched
	}
	s := r.After
	rate := f.cycles(r.Before.Cycles, s.Cycles)
	if rate < manyCyclesHz || r.Live != nil && *r.Live > tinyHeap {
		return nil, nil
	}
	live := ""
	if r.Live != nil {
		live = " with a live heap of " + unit.Size(*r.Live)
	}
	return []Finding{p.tiny(fmt.Sprintf("%s GC cycles a second%s.", unit.Rate(rate), live),
		p.runtime("GC cycles: %s, and %s more %s later", unit.Number(int64(r.Before.Cycles)),
			unit.Number(int64(s.Cycles-r.Before.Cycles)), unit.Seconds(f.Watched.Seconds())))}, nil
}

func (p *Process) tiny(what string, evidence Reading) Finding {
	return Finding{
		What:     what,
		Evidence: []Reading{evidence},
		Means:    "This costs more than any figure shows: " + tinyCosts + ". The cost grows with the number of threads. A few MiB more of heap save almost all of it.",
		Fix: []Step{{Do: "Allow a larger heap, and measure the gain with folio tune:", Code: "GOGC=" + tinyGOGC},
			{Do: "Or import the package that keeps a minimum heap:", Code: `import _ "github.com/foliomem/folio/auto"`},
			{Do: "Or build it with the patch for a minimum heap, and set FOLIO_HEAPMINIMUM=64MiB:", Code: "folio build --patch heap-minimum"}},
	}
}

// lookTinySampled judges by how much of the time GC takes: a small
// process that spends much of it there collects all the time.
func lookTinySampled(f *Facts, unread error) ([]Finding, error) {
	const share, busy = 0.1, 0.05 // of its time; processors
	p := f.Process
	anon := p.Status.Value.RssAnon
	switch {
	case p.Status.Err != nil:
		return nil, p.Status.Err
	case anon == nil:
		return nil, fmt.Errorf("%w; %w", unread, missing("RssAnon", p.file("status"), "4.5"))
	case *anon > smallHeap:
		return nil, nil // its heap is not tiny, or its GC cycles are few
	case f.Watched <= 0:
		return nil, errNotWatched
	case p.Samples.Err != nil:
		return nil, fmt.Errorf("%w; %w", unread, p.Samples.Err)
	case p.Samples.Value.CPU < busy*f.Watched.Seconds():
		return nil, nil // it hardly runs: whatever it does costs nothing
	case p.Samples.Value.Result == nil || p.Samples.Value.Result.Samples < profile.Fewest:
		return nil, fmt.Errorf("%w; too few samples of its time were taken", unread)
	case !p.Samples.Value.Result.Shares():
		return nil, fmt.Errorf("%w; %s", unread, nameless(p.Samples.Value.Result))
	}
	part := *p.Samples.Value.Result.GCFraction
	if part < share {
		return nil, nil
	}
	h := p.tiny(fmt.Sprintf("A process of %s collects all the time: that takes %s of its CPU time.", unit.Size(*anon), unit.Percent(part)),
		Reading{"samples of its time", fmt.Sprintf("%d, over %s: %s in GC", p.Samples.Value.Result.Samples,
			unit.Seconds(f.Watched.Seconds()), unit.Percent(part))})
	h.Evidence = append(h.Evidence, Reading{p.file("status"), "RssAnon: " + unit.Size(*anon)})
	h.Means += " The number of GC cycles could not be read: " + unread.Error() + "."
	return []Finding{h}, nil
}

func lookReturned(f *Facts) ([]Finding, error) {
	const over = 1.25
	p := f.Process
	if p.Memory.Err == nil {
		return p.wasted("go-returned-memory"), nil
	}
	r, err := p.Runtime.get()
	if err != nil {
		return nil, err
	}
	s, err := p.Rollup.get()
	if err != nil {
		return nil, err
	}
	ready := r.After.Held
	switch {
	case ready == nil:
		return nil, fmt.Errorf("%s does not count what it has returned: it needs Go 1.19", p.GoVersion.Value)
	case s.Anonymous == nil || s.AnonHugePages == nil:
		return nil, missing("AnonHugePages", p.file("smaps_rollup"), "4.14, with huge pages")
	}
	// Without huge pages nothing can be resident that was not touched.
	if *s.AnonHugePages < much || *s.Anonymous < *ready+much || float64(*s.Anonymous) < over*float64(*ready) {
		return nil, nil
	}
	h := Finding{
		What: fmt.Sprintf("%s are resident beyond what the Go runtime holds.", unit.Size(*s.Anonymous-*ready)),
		Evidence: []Reading{p.runtime("holds %s", unit.Size(*ready)),
			{p.file("smaps_rollup"), fmt.Sprintf("Anonymous %s, AnonHugePages %s", unit.Size(*s.Anonymous), unit.Size(*s.AnonHugePages))}},
		Means: "Either khugepaged made huge pages of memory that was returned, which the runtime cannot return again, or the program has memory outside of the Go heap (cgo, mmap).",
		Fix: []Step{set("Keep khugepaged from it, and restart the program:", "0", ptesNone),
			{Do: "Or without root, in the program's environment (Go 1.21.6 and newer), at the price of huge pages:", Code: "GODEBUG=disablethp=1"}},
	}
	if t := f.THP.Value; t.MaxPtesNone != nil {
		h.Evidence = append(h.Evidence, Reading{ptesNone, fmt.Sprint(*t.MaxPtesNone)})
	}
	return []Finding{h}, nil
}

// lookStacks finds many goroutines, which may be leaked ones.
func lookStacks(f *Facts) ([]Finding, error) {
	const share = 0.1
	p := f.Process
	if p.Memory.Err == nil {
		return p.wasted("go-goroutine-stacks"), nil
	}
	r, err := p.Runtime.get()
	if err != nil {
		return nil, err
	}
	s := r.After
	if s.Stacks == nil || s.Held == nil {
		return nil, fmt.Errorf("%s does not count the stacks of goroutines: it needs Go 1.19", p.GoVersion.Value)
	}
	if *s.Stacks < much || float64(*s.Stacks) < share*float64(*s.Held) {
		return nil, nil
	}
	h := Finding{
		What:     fmt.Sprintf("Stacks of goroutines take %s of the %s that the Go runtime holds.", unit.Size(*s.Stacks), unit.Size(*s.Held)),
		Evidence: []Reading{p.runtime("stacks %s", unit.Size(*s.Stacks))},
		Means:    "Each GC cycle scans these stacks. A goroutine that waits forever (a leak) keeps its stack, and all that it points to, for as long as the program runs.",
		Fix: []Step{{Do: "See where goroutines wait (net/http/pprof in the program):",
			Code: "go tool pprof -top http://HOST:PORT/debug/pprof/goroutine"}},
	}
	if s.Goroutines > 0 {
		h.Evidence = append(h.Evidence, p.runtime("at most %s goroutines at one time", unit.Number(int64(s.Goroutines))))
	}
	leaks := Step{Do: "Only those that can never continue:", Code: "go tool pprof -top http://HOST:PORT/debug/pprof/goroutineleak"}
	switch v := p.release(); {
	case v == "":
	case version.Compare(v, "go1.26") < 0:
		leaks.Do = "Built with Go 1.27, it can list only those that can never go on:"
	case version.Compare(v, "go1.27") < 0:
		leaks.Do = "Built with Go 1.27, or with GOEXPERIMENT=goroutineleakprofile, it can list only those that can never go on:"
	}
	h.Fix = append(h.Fix, leaks)
	return []Finding{h}, nil
}

func lookDisableTHP(f *Facts) ([]Finding, error) {
	p := f.Process
	value, _, err := p.env("GODEBUG")
	if err != nil {
		return nil, err
	}
	on := false
	for setting := range strings.SplitSeq(value, ",") {
		if v, ok := strings.CutPrefix(setting, "disablethp="); ok {
			on = v != "0" // the last one counts
		}
	}
	if !on {
		return nil, nil
	}
	return []Finding{{
		What:     "GODEBUG keeps the Go heap off huge pages.",
		Evidence: []Reading{{p.file("environ"), "GODEBUG=" + value}},
		Means:    "With disablethp=1 the runtime forbids huge pages (MADV_NOHUGEPAGE) for the whole heap. It was meant for machines with THP always and a high max_ptes_none.",
		Fix:      []Step{set("Take it out of GODEBUG, and set max_ptes_none instead:", "0", ptesNone)},
	}}, nil
}
