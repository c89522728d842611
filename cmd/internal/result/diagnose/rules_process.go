package diagnose

import (
	"errors"
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/advice"
	"github.com/foliomem/folio/internal/base/unit"
)

var processRules = []Rule{
	{
		ID: "thp-disabled", Title: "transparent huge pages are off for the process", Scope: OfProcess, Severity: Problem,
		Reads: []string{"/proc/PID/status"}, Reference: "https://man7.org/linux/man-pages/man2/PR_SET_THP_DISABLE.2const.html",
		look: lookDisabled,
	}, {
		ID: "swapped-out", Title: "part of the process is swapped out", Scope: OfProcess, Severity: Problem,
		Reads: []string{"/proc/PID/status"}, Reference: docVM + "#swappiness", look: lookSwapped,
	}, {
		ID: "heap-on-base-pages", Title: "64MiB or more of memory is on base pages", Scope: OfProcess, Severity: Warning,
		Reads: []string{"/proc/PID/smaps_rollup", thpEnabled}, Reference: docGuideTHP, look: lookBasePages,
	}, {
		ID: "advised-not-huge", Title: "memory that asked for huge pages is on base pages", Scope: OfProcess, Severity: Warning,
		Reads: []string{"/proc/PID/smaps"}, Reference: docTHP, look: lookAdvised,
	}, {
		ID: "opted-out", Title: "memory of the process opted out of huge pages", Scope: OfProcess, Severity: Warning,
		Reads: []string{"/proc/PID/smaps"}, Reference: "https://man7.org/linux/man-pages/man2/madvise.2.html", look: lookOptedOut,
	}, {
		ID: "fork-copies", Title: "huge pages are shared with a forked copy", Scope: OfProcess, Severity: Warning,
		Reads: []string{"/proc/PID/smaps_rollup", "/proc/*/stat"}, Reference: "https://git.kernel.org/torvalds/c/3917c80280c9", look: lookFork,
	}, {
		ID: "freed-but-resident", Title: "lazily freed memory still counts", Scope: OfProcess, Severity: Note,
		Reads: []string{"/proc/PID/smaps_rollup"}, Reference: "https://pkg.go.dev/runtime#hdr-Environment_Variables", look: lookLazy,
	}, {
		ID: "too-many-mappings", Title: "the process is near the most mappings it may have", Scope: OfProcess, Severity: Warning,
		Reads: []string{"/proc/PID/smaps", "/proc/sys/vm/max_map_count"}, Reference: docVM + "#max-map-count", look: lookMappings,
	}, {
		ID: "container-charge", Title: "much of what the container is charged for is in the RSS of no process", Scope: OfProcess, Severity: Warning,
		Reads: []string{"memory.current", "memory.stat of the cgroups", "/proc/PID/maps", "/proc/PID/mountinfo"}, Reference: docGroup, look: lookCharge,
	}, {
		ID: "malloc-arenas", Title: "glibc malloc has many arenas", Scope: OfProcess, Severity: Note,
		Reads: []string{"/proc/PID/smaps", "/proc/PID/environ"}, Reference: "https://www.gnu.org/software/libc/manual/html_node/Memory-Allocation-Tunables.html",
		look: wastes("malloc-arenas"),
	},
}

// file names a file of the process.
func (p *Process) file(name string) string { return fmt.Sprintf("/proc/%d/%s", p.PID, name) }

// isGo reports whether it is known to be a Go program.
func (p *Process) isGo() bool { return p.GoVersion.Err == nil && p.GoVersion.Value != "" }

// prctl is the code that turns huge pages off, or on again, in the language of
// the program as far as that is known.
func (p *Process) prctl(disable int) string {
	if p.isGo() {
		return fmt.Sprintf("unix.Prctl(unix.PR_SET_THP_DISABLE, %d, 0, 0, 0) // golang.org/x/sys/unix", disable)
	}
	return fmt.Sprintf("prctl(PR_SET_THP_DISABLE, %d, 0, 0, 0);", disable)
}

// collapse is the step that puts the process on huge pages (Linux 6.1); none where this user
// cannot.
func (p *Process) collapse(do string) []Step {
	if p.Collapse == "" {
		return nil
	}
	return []Step{{Do: do, Code: p.Collapse}}
}

// missing is the error for what this kernel does not say.
func missing(what, file, since string) error {
	return fmt.Errorf("%s is not in %s: it needs Linux %s", what, file, since)
}

func lookDisabled(f *Facts) ([]Finding, error) {
	p := f.Process
	s, err := p.Status.get()
	if err != nil {
		return nil, err
	}
	if s.THPEnabled == nil {
		return nil, missing("THP_enabled", p.file("status"), "5.0, with huge pages")
	}
	if *s.THPEnabled || !f.THP.Value.Present && f.THP.Err == nil {
		return nil, nil // without THP in the kernel it is 0 for all
	}
	a, _ := advice.ByID("thp-disabled", &advice.Facts{OptedOut: true})
	h := findingOf(a, Reading{p.file("status"), "THP_enabled: 0"})
	h.Fix = append(h.Fix, Step{Do: "Or have the process undo it, early in main:", Code: p.prctl(0)})
	return []Finding{h}, nil
}

func lookSwapped(f *Facts) ([]Finding, error) {
	const some = 1 << 20
	p := f.Process
	s, err := p.Status.get()
	if err != nil {
		return nil, err
	}
	if s.VmSwap == nil {
		return nil, missing("VmSwap", p.file("status"), "2.6.34, with swap")
	}
	if *s.VmSwap < some {
		return nil, nil
	}
	h := Finding{
		What:     fmt.Sprintf("%s of this process are swapped out.", unit.Size(*s.VmSwap)),
		Evidence: []Reading{{p.file("status"), "VmSwap: " + unit.Size(*s.VmSwap)}},
		Means:    "Each page is read back from the disk by itself, never as part of a huge page.",
		Fix:      []Step{{Do: "Free memory, or give the process less to use. For a service under systemd:", Code: "MemorySwapMax=0"}},
	}
	if p.isGo() {
		h.Means += " A GC cycle reads the whole live heap, so it waits for each such page that is live."
	}
	if f.Swappiness.Err == nil {
		h.Evidence = append(h.Evidence, Reading{swappiness, fmt.Sprint(f.Swappiness.Value)})
	}
	return []Finding{h}, nil
}

func lookBasePages(f *Facts) ([]Finding, error) {
	p := f.Process
	s, err := p.Rollup.get()
	if err != nil {
		return nil, err
	}
	if f.window() == 0 {
		return nil, f.THP.Err // without THP there is nothing better to have
	}
	if s.Anonymous == nil || s.AnonHugePages == nil {
		return nil, missing("AnonHugePages", p.file("smaps_rollup"), "4.14, with huge pages")
	}
	if !inspect.OnBasePages(*s.Anonymous, *s.AnonHugePages) || p.disabled() {
		return nil, nil
	}
	h := Finding{
		What: fmt.Sprintf("%s of anonymous memory, %s of it on huge pages.", unit.Size(*s.Anonymous),
			unit.Percent(float64(*s.AnonHugePages)/float64(*s.Anonymous))),
		Evidence: []Reading{{p.file("smaps_rollup"),
			fmt.Sprintf("Anonymous: %s, AnonHugePages: %s", unit.Size(*s.Anonymous), unit.Size(*s.AnonHugePages))}},
		Means: "Random reads of a heap of this size wait for address translation, and each first touch is a page fault. Huge pages save part of both.",
	}
	if *s.Anonymous < inspect.LargeHeap {
		h.Severity = Note
	}
	if t := f.THP.Value.Enabled; t.Selected != "" {
		h.Evidence = append(h.Evidence, Reading{thpEnabled, bracketed(t)})
	}
	if r := f.Release; r.Err == nil && r.Value.AtLeast(6, 1) {
		h.Fix = append(h.Fix, p.collapse("Put what is resident on huge pages, without a restart:")...)
	}
	if p.isGo() {
		step := Step{Do: "Or have the program ask for them itself, by one import:", Code: `import _ "github.com/foliomem/folio/auto"`}
		if *s.Anonymous < autoHeap {
			step.Do = "Or have the program ask for them itself, by one import, with FOLIO=minheap=32MiB in its environment (by default it leaves heaps below 256MiB alone):"
		}
		h.Fix = append(append(h.Fix, p.hugeHeap()...), step, Step{Do: "Or build it with a runtime that asks as the heap grows:", Code: "folio build"})
	} else {
		h.Fix = append(h.Fix, Step{Do: "For good, have its allocator ask for them; for glibc's malloc:",
			Code: "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"})
	}
	return []Finding{h}, nil
}

// hugeHeap is how to have the heap on huge pages from the start of the program; nil where that
// is not possible.
func (p *Process) hugeHeap() []Step {
	const good = "For good, without a rebuild: start "
	switch {
	case p.NoTrace == nil:
		return []Step{{Do: good + "it with its heap on huge pages (Go 1.21.6 or later):", Code: "folio exec --thp heap -- PROGRAM ARGS"}}
	case errors.Is(p.NoTrace, trial.ErrUntraced):
		why, _, _ := strings.Cut(p.NoTrace.Error(), "; ")
		return []Step{{Do: good + "a copy of it whose heap asks for huge pages (Go 1.21.6 or later). folio exec needs ptrace, which is denied here (" + why + "):",
			Code: "folio patch PROGRAM -o COPY"}}
	}
	return nil
}

// autoHeap is the heap from which on package auto looks for huge pages by default.
const autoHeap = 256 << 20

// disabled reports whether huge pages are off for the process, which is a finding
// of its own.
func (p *Process) disabled() bool {
	e := p.Status.Value.THPEnabled
	return e != nil && !*e
}

func lookAdvised(f *Facts) ([]Finding, error) {
	const share = 0.5
	p := f.Process
	a, err := p.Advice.get()
	if err != nil {
		return nil, err
	}
	e := a.Huge
	if e.Anonymous < much || float64(e.OnHuge) >= share*float64(e.Anonymous) || p.disabled() {
		return nil, nil
	}
	if word, _ := f.policy(); word == "never" {
		return nil, nil // that is why, and a finding of its own
	}
	h := Finding{
		What: fmt.Sprintf("%s asked for huge pages, and %s of it are on base pages.", unit.Size(e.Anonymous),
			unit.Size(e.Anonymous-e.OnHuge)),
		Evidence: []Reading{{p.file("smaps"), fmt.Sprintf("mappings with the flag hg: Anonymous %s, AnonHugePages %s",
			unit.Size(e.Anonymous), unit.Size(e.OnHuge))}},
		Means: "Either it was touched before it asked, or no huge page was free then, or huge pages were split since: by returning a part of each (MADV_DONTNEED), by a change of protection, or by fork. huge-pages-split and huge-pages-refused tell which of these happens now.",
		Fix: []Step{{Do: "Ask before the first touch, and return whole windows only (page.Mapping does both):",
			Code: "madvise(MADV_HUGEPAGE)"}},
	}
	if r := f.Release; r.Err == nil && r.Value.AtLeast(6, 1) {
		h.Fix = append(p.collapse("Put it on huge pages now:"), h.Fix...)
	}
	return []Finding{h}, nil
}

func lookOptedOut(f *Facts) ([]Finding, error) {
	const share = 0.25
	p := f.Process
	a, err := p.Advice.get()
	if err != nil {
		return nil, err
	}
	all := a.Huge.Anonymous + a.NoHuge.Anonymous + a.None.Anonymous
	if a.NoHuge.Anonymous < much || float64(a.NoHuge.Anonymous) < share*float64(all) {
		return nil, nil
	}
	h := Finding{
		What: fmt.Sprintf("%s of this process opted out of huge pages.", unit.Size(a.NoHuge.Anonymous)),
		Evidence: []Reading{{p.file("smaps"), fmt.Sprintf("mappings with the flag nh: Anonymous %s of %s",
			unit.Size(a.NoHuge.Anonymous), unit.Size(all))}},
		Means: "The program called madvise(MADV_NOHUGEPAGE): neither khugepaged nor MADV_COLLAPSE touches this memory.",
		Fix:   []Step{{Do: "Find what calls it:", Code: fmt.Sprintf("sudo strace -f -e trace=madvise -p %d", p.PID)}},
	}
	if p.isGo() {
		h.Means += " Go does so for the heap with GODEBUG=disablethp=1 (1.21.6 and newer), and up to 1.20 around memory that it returns."
	}
	return []Finding{h}, nil
}

func lookFork(f *Facts) ([]Finding, error) {
	p := f.Process
	s, err := p.Rollup.get()
	if err != nil {
		return nil, err
	}
	switch {
	case s.Anonymous == nil || s.AnonHugePages == nil:
		return nil, missing("AnonHugePages", p.file("smaps_rollup"), "4.14, with huge pages")
	case *s.AnonHugePages < much:
		return nil, nil
	case s.PssAnon == nil:
		return nil, missing("Pss_Anon", p.file("smaps_rollup"), "5.4")
	}
	// With one other process, a shared page counts half.
	shared := 2 * (*s.Anonymous - min(*s.Anonymous, *s.PssAnon))
	if shared < much {
		return nil, nil
	}
	shared = min(shared, *s.Anonymous)
	h := Finding{
		What: fmt.Sprintf("Huge pages are shared with a forked copy of the process (about %s in all).", unit.Size(shared)),
		Evidence: []Reading{{p.file("smaps_rollup"), fmt.Sprintf("Anonymous %s, Pss_Anon %s (shared pages count in part), AnonHugePages %s",
			unit.Size(*s.Anonymous), unit.Size(*s.PssAnon), unit.Size(*s.AnonHugePages))}},
		Means: "The first write to each shared huge page splits it and copies one base page: such writes are slow, and the split pages stay base pages after the child has ended, until khugepaged collapses them.",
		Fix: []Step{{Do: "Start other programs with os/exec or posix_spawn, which share no pages, and fork copies only of small processes."},
			{Do: "If it must fork, turn huge pages off for it, early in main:", Code: p.prctl(1)}},
	}
	if n := p.Children.Value; len(n) > 0 {
		h.Evidence = append(h.Evidence, Reading{"/proc/*/stat",
			fmt.Sprintf("children under the same name: %s", strings.Trim(fmt.Sprint(n), "[]"))})
	}
	if r, err := f.Release.get(); err == nil && !r.AtLeast(5, 8) {
		h.Severity = Problem
		h.Means = fmt.Sprintf("Before Linux 5.8 (this is %s) the first write to each shared huge page copies all %s of it: such writes take 512 times as long, and memory grows as fast.", r.Text, unit.Size(f.window()))
	}
	return []Finding{h}, nil
}

func lookLazy(f *Facts) ([]Finding, error) {
	p := f.Process
	s, err := p.Rollup.get()
	if err != nil {
		return nil, err
	}
	if s.LazyFree == nil {
		return nil, missing("LazyFree", p.file("smaps_rollup"), "4.14")
	}
	if *s.LazyFree < much {
		return nil, nil
	}
	h := Finding{
		What:     fmt.Sprintf("%s were freed and still count as RSS.", unit.Size(*s.LazyFree)),
		Evidence: []Reading{{p.file("smaps_rollup"), "LazyFree: " + unit.Size(*s.LazyFree)}},
		Means:    "The program frees with MADV_FREE: the kernel reclaims the memory only when it is short. Until then it counts as RSS and in the container's use. With huge pages MADV_FREE and the next use are slower than with MADV_DONTNEED.",
		Fix:      []Step{{Do: "Have its allocator use MADV_DONTNEED."}},
	}
	if p.isGo() {
		h.Fix = []Step{{Do: "Take madvdontneed=0 out of GODEBUG; with Go 1.12 to 1.15, whose default is MADV_FREE, set:",
			Code: "GODEBUG=madvdontneed=1"}}
	}
	return []Finding{h}, nil
}

func lookMappings(f *Facts) ([]Finding, error) {
	const near = 0.8
	p := f.Process
	a, err := p.Advice.get()
	if err != nil {
		return nil, err
	}
	most, err := p.MaxMaps.get()
	if err != nil {
		return nil, err
	}
	if most <= 0 {
		return nil, errors.New("vm.max_map_count is not a number of mappings")
	}
	if float64(a.Mappings) < near*float64(most) {
		return nil, nil
	}
	return []Finding{{
		What:     fmt.Sprintf("The process has %d mappings of at most %d.", a.Mappings, most),
		Evidence: []Reading{{p.file("smaps"), fmt.Sprintf("%d mappings", a.Mappings)}, {"/proc/sys/vm/max_map_count", fmt.Sprint(most)}},
		Means:    "At the limit mmap and madvise fail, and a Go program ends with \"out of memory\". Advice on pieces of memory splits mappings.",
		Fix:      []Step{{Do: "Allow more:", Code: fmt.Sprintf("sudo sysctl -w vm.max_map_count=%d", 4*most)}},
	}}, nil
}
