package diagnose

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/base/advice"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Where the facts come from, and what explains them.
const (
	thpDir        = "/sys/kernel/mm/transparent_hugepage/"
	thpEnabled    = thpDir + "enabled"
	thpDefrag     = thpDir + "defrag"
	ptesNone      = thpDir + "khugepaged/max_ptes_none"
	swappiness    = "/proc/sys/vm/swappiness"
	meminfo       = "/proc/meminfo"
	vmstat        = "/proc/vmstat"
	hugetlbDir    = "/sys/kernel/mm/hugepages/"
	docTHP        = "https://docs.kernel.org/admin-guide/mm/transhuge.html"
	docHugetlb    = "https://docs.kernel.org/admin-guide/mm/hugetlbpage.html"
	docVM         = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
	docGuideTHP   = "https://go.dev/doc/gc-guide#Linux_transparent_huge_pages"
	docGuideLimit = "https://go.dev/doc/gc-guide#Memory_limit"
)

var hostRules = []Rule{
	{
		ID: "thp-missing", Title: "the kernel has no transparent huge pages", Scope: Host, Severity: Warning,
		Reads: []string{thpDir}, Reference: docTHP, look: lookMissing,
	}, {
		ID: "thp-never", Title: "transparent huge pages are off for all programs", Scope: Host, Severity: Warning,
		Reads: []string{thpEnabled}, Reference: docTHP, look: lookNever,
	}, {
		ID: "thp-always", Title: "every program gets huge pages, asked for or not", Scope: Host, Severity: Note,
		Reads: []string{thpEnabled}, Reference: docGuideTHP, look: lookAlways,
	}, {
		ID: "defrag-always", Title: "page faults of all programs wait until huge pages have been made", Scope: Host, Severity: Warning,
		Reads: []string{thpDefrag}, Reference: docTHP, look: lookDefrag,
	}, {
		ID: "max-ptes-none", Title: "khugepaged re-populates memory that programs have released", Scope: Host, Severity: Note,
		Reads: []string{ptesNone, thpEnabled}, Reference: "https://go.dev/doc/gc-guide#Linux_THP_max_ptes_none_workaround", look: lookPtesNone,
	}, {
		ID: "hugetlb-unused", Title: "hugetlb pages are reserved and not used", Scope: Host, Severity: Warning,
		Reads: []string{hugetlbDir}, Reference: docHugetlb, look: lookHugetlb,
	}, {
		ID: "free-memory-in-pieces", Title: "free memory is in pieces smaller than a huge page", Scope: Host, Severity: Note,
		Reads: []string{"/proc/buddyinfo"}, Reference: docTHP, look: lookPieces,
	}, {
		ID: "swappiness", Title: "memory is swapped out early", Scope: Host, Severity: Note,
		Reads: []string{meminfo, swappiness}, Reference: docVM + "#swappiness", look: lookSwappiness,
	}, {
		ID: "base-page-size", Title: "base pages are larger than 4KiB", Scope: Host, Severity: Note,
		Reads: []string{"getpagesize(2)", thpDir + "hpage_pmd_size"}, Reference: docTHP, look: lookPageSize,
	},
}

// set is the step that writes a policy file until the next boot.
func set(do, value, file string) Step {
	return Step{Do: do, Code: fmt.Sprintf("echo %s | sudo tee %s", value, file)}
}

// policy returns the chosen word of enabled; "" without THP, which is another
// rule's business.
func (f *Facts) policy() (string, error) {
	t, err := f.THP.get()
	if t.Enabled.Selected != "" || err == nil {
		return t.Enabled.Selected, nil
	}
	return "", err
}

func lookMissing(f *Facts) ([]Finding, error) {
	t, err := f.THP.get()
	if t.Present || err != nil && !t.Present {
		return nil, ignoreIf(t.Present, err)
	}
	return []Finding{{
		What:     "The kernel has no transparent huge pages.",
		Evidence: []Reading{{strings.TrimSuffix(thpDir, "/"), "no such directory"}},
		Means:    "No heap can be put on huge pages: the kernel was built without CONFIG_TRANSPARENT_HUGEPAGE, or /sys is hidden from this container.",
		Fix:      []Step{{Do: "Use a kernel with CONFIG_TRANSPARENT_HUGEPAGE=y, as all large distributions have it."}},
	}}, nil
}

// ignoreIf returns err unless what it is about was found out all the same.
func ignoreIf(known bool, err error) error {
	if known {
		return nil
	}
	return err
}

// Policy says what the policy for transparent huge pages means for Go programs,
// "" when it is not known.
func (f *Facts) Policy() string {
	word, _ := f.policy()
	switch word {
	case "always":
		return "THP always: Go heaps get huge pages without asking"
	case "madvise":
		return "THP madvise: programs get huge pages if they ask; Go itself never asks"
	case "never":
		return "THP never: Go heaps are on base pages, also if they ask for more"
	}
	return ""
}

func lookNever(f *Facts) ([]Finding, error) {
	word, err := f.policy()
	if err != nil || word != "never" {
		return nil, err
	}
	means := "Asking for them with madvise changes nothing, so goheap, arena, auto and folio exec leave programs on base pages."
	if r := f.Release; r.Err == nil && r.Value.AtLeast(6, 1) {
		means += " Only MADV_COLLAPSE, which goheap's collapse and folio collapse use, works all the same."
	}
	return []Finding{{
		What:     "Transparent huge pages are off for all programs.",
		Evidence: []Reading{{thpEnabled, bracketed(f.THP.Value.Enabled)}},
		Means:    means,
		Fix: []Step{set("Let programs have them that ask. The others see no change:", "madvise", thpEnabled),
			{Do: "For good, on the kernel's command line:", Code: "transparent_hugepage=madvise"}},
	}}, nil
}

func lookAlways(f *Facts) ([]Finding, error) {
	word, err := f.policy()
	if err != nil || word != "always" {
		return nil, err
	}
	return []Finding{{
		What:     "Every program gets huge pages, asked for or not.",
		Evidence: []Reading{{thpEnabled, bracketed(f.THP.Value.Enabled)}},
		Means:    "Large Go heaps gain from it. Small ones can take up to half as much memory again, khugepaged re-populates memory that programs have released (see max-ptes-none), and page faults may wait until a huge page has been made (see defrag-always).",
		Fix: []Step{set("Let only those have them that ask, and have the large heaps ask (folio exec, folio patch, or import folio/auto):", "madvise",
			thpEnabled),
			{Do: "Or keep it for large heaps, with max_ptes_none at 0 and defrag at defer or defer+madvise."}},
	}}, nil
}

func lookDefrag(f *Facts) ([]Finding, error) {
	t, err := f.THP.get()
	if t.Defrag.Selected == "" {
		return nil, err
	}
	a, found := advice.ByID("defrag-always", f.advice(t))
	if !found {
		return nil, nil
	}
	h := findingOf(a, Reading{thpDefrag, bracketed(t.Defrag)}, Reading{thpEnabled, bracketed(t.Enabled)})
	if t.Enabled.Selected != "always" {
		h.Severity = Note
	}
	return []Finding{h}, nil
}

// advice are the facts as the catalogue of advice has them.
func (f *Facts) advice(t procmem.THP) *advice.Facts {
	out := &advice.Facts{Enabled: t.Enabled.Selected, Defrag: t.Defrag.Selected, MaxPtesNone: t.MaxPtesNone, Anyone: true}
	if f.PageBytes > 0 {
		out.WindowPages = int(f.window()) / f.PageBytes
	}
	return out
}

// findingOf makes a finding of advice.
func findingOf(a advice.Advice, read ...Reading) Finding {
	return Finding{What: a.What, Evidence: read, Means: a.Means, Fix: []Step{{a.Do, a.Code}}, Reference: a.See}
}

func lookPtesNone(f *Facts) ([]Finding, error) {
	t, err := f.THP.get()
	if t.MaxPtesNone == nil || f.window() == 0 || t.Enabled.Selected == "" {
		return nil, err
	}
	a, found := advice.ByID("max-ptes-none", f.advice(t))
	if !found {
		return nil, nil
	}
	h := findingOf(a, Reading{ptesNone, fmt.Sprint(*t.MaxPtesNone)}, Reading{thpEnabled, bracketed(t.Enabled)})
	if t.Enabled.Selected == "always" {
		h.Severity = Warning
	}
	if p := f.Process; p != nil && p.Advice.Err == nil && p.Advice.Value.Huge.Anonymous >= much {
		h.Severity = Warning
		h.Evidence = append(h.Evidence, Reading{p.file("smaps"),
			unit.Size(p.Advice.Value.Huge.Anonymous) + " in mappings with the flag hg (asked for huge pages)"})
	}
	return []Finding{h}, nil
}

func lookHugetlb(f *Facts) ([]Finding, error) {
	pools, err := f.Pools.get()
	if err != nil {
		return nil, err
	}
	var out []Finding
	for _, p := range pools {
		if p.Unused() == 0 {
			continue
		}
		file := fmt.Sprintf("%shugepages-%dkB/", hugetlbDir, p.PageBytes/1024)
		h := Finding{
			What: fmt.Sprintf("%s of hugetlb pages are reserved and not used.", unit.Size(p.Unused())),
			Evidence: []Reading{{file + "nr_hugepages", fmt.Sprint(p.Pages)}, {file + "free_hugepages", fmt.Sprint(p.Free)},
				{file + "resv_hugepages", fmt.Sprint(p.Reserved)}},
			Means: "No other program can have this memory, neither for its heap nor for files. Go heaps never use such pages.",
			Fix:   []Step{set("Keep what is in use:", fmt.Sprint(p.Pages-(p.Free-p.Reserved)), file+"nr_hugepages")},
		}
		if total := f.Meminfo.Value.MemTotal; total != nil {
			part := float64(p.Unused()) / float64(*total)
			h.Evidence = append(h.Evidence, Reading{meminfo, fmt.Sprintf("MemTotal %s: %s of it lies idle", unit.Size(*total), unit.Percent(part))})
			if part >= 0.25 {
				h.Severity = Problem
			}
		}
		out = append(out, h)
	}
	return out, nil
}

func lookPieces(f *Facts) ([]Finding, error) {
	const enough, few = 1 << 30, 0.05 // free memory worth speaking of; of it in huge pages
	blocks, err := f.Free.get()
	if err != nil {
		return nil, err
	}
	window := f.window()
	if word, _ := f.policy(); window == 0 || word == "never" {
		return nil, nil
	}
	order := 0
	for f.PageBytes<<order < int(window) {
		order++
	}
	free, whole := blocks.Pages(0)*uint64(f.PageBytes), blocks.Pages(order)*uint64(f.PageBytes)
	if free < enough || float64(whole) > few*float64(free) {
		return nil, nil
	}
	return []Finding{{
		What: fmt.Sprintf("Free memory is in pieces smaller than a huge page (%s).", unit.Size(window)),
		Evidence: []Reading{{"/proc/buddyinfo", fmt.Sprintf("%s free, %s of it in blocks of order %d or more",
			unit.Size(free), unit.Size(whole), order)}},
		Means: "A huge page is available only after other memory has been moved: faults get base pages, or wait (see thp_defrag).",
		Fix: []Step{{Do: "Put free memory together once, which takes a while:", Code: "echo 1 | sudo tee /proc/sys/vm/compact_memory"},
			{Do: "Or start the programs with large heaps early, before files fill the memory."}},
	}}, nil
}

func lookSwappiness(f *Facts) ([]Finding, error) {
	const readily = 10
	m, err := f.Meminfo.get()
	if err != nil {
		return nil, err
	}
	if m.SwapTotal == nil || m.SwapFree == nil || *m.SwapTotal < *m.SwapFree+much {
		return nil, nil // no swap, or hardly used
	}
	n, err := f.Swappiness.get()
	if err != nil || n <= readily {
		return nil, err
	}
	return []Finding{{
		What: fmt.Sprintf("%s are swapped out, and vm.swappiness lets the kernel swap early.", unit.Size(*m.SwapTotal-*m.SwapFree)),
		Evidence: []Reading{{swappiness, fmt.Sprint(n)},
			{meminfo, fmt.Sprintf("SwapTotal %s, SwapFree %s", unit.Size(*m.SwapTotal), unit.Size(*m.SwapFree))}},
		Means: "A GC cycle reads the whole live heap: it reads back all that was swapped out. Dropping pages of files instead would be cheaper.",
		Fix:   []Step{{Do: "Swap only when there is nothing else to drop:", Code: "sudo sysctl vm.swappiness=1"}},
	}}, nil
}

func lookPageSize(f *Facts) ([]Finding, error) {
	if f.PageBytes <= 4096 {
		return nil, nil
	}
	h := Finding{
		What:     fmt.Sprintf("Base pages are %s.", unit.Size(uint64(f.PageBytes))),
		Evidence: []Reading{{"getpagesize(2)", fmt.Sprint(f.PageBytes)}},
		Means:    "Page faults and TLB misses are fewer than with 4KiB pages, so huge pages gain less here; memory is given in whole pages, so many small mappings and stacks take more.",
		Fix: []Step{{Do: "Nothing, if there is enough memory. Figures from machines with 4KiB pages do not hold here: measure.",
			Code: "folio lab pages"}},
	}
	if w := f.window(); w > 0 {
		h.Evidence = append(h.Evidence, Reading{thpDir + "hpage_pmd_size", fmt.Sprint(w)})
		if w > 32<<20 {
			h.Means += fmt.Sprintf(" A huge page is %s: only heaps of many times that size can use one.", unit.Size(w))
		}
	}
	return []Finding{h}, nil
}

// much is an amount of memory that is worth a user's time.
const much = 64 << 20

func bracketed(c procmem.Choice) string {
	words := make([]string, len(c.Options))
	for i, w := range c.Options {
		if words[i] = w; w == c.Selected {
			words[i] = "[" + w + "]"
		}
	}
	return strings.Join(words, " ")
}
