package goheap

import (
	"errors"
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/procmem"
	"github.com/foliomem/folio/page"
)

// fills reports whether khugepaged makes huge pages of windows that
// are far from full.
func fills(t procmem.THP) bool {
	const share = 8 // an eighth
	return t.MaxPtesNone != nil && *t.MaxPtesNone > page.WindowSize()/page.Size()/share
}

const lessFilling = "echo 0 > /sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none, as root"

// hazards says which settings of the system work against a heap on huge pages,
// and what is done about it.
func hazards(t procmem.THP, o Options) (out []string) {
	if fills(t) {
		n, all := *t.MaxPtesNone, page.WindowSize()/page.Size()
		switch {
		case t.Enabled.Selected == "always":
			out = append(out, fmt.Sprintf("transparent_hugepage/enabled is always, and khugepaged makes a huge page of a window where %d of %d pages are missing: memory that the heap gives back comes back; it is given back again, at the cost of a collection, and what the heap has by then is advised against huge pages, and collapsed by the advisor only: %s", n, all, lessFilling))
		case o.Reserve != 0:
			out = append(out, fmt.Sprintf("khugepaged makes a huge page of a window where %d of %d pages are missing, in the reserve too: so what was used of it is advised against huge pages, and collapsed by the advisor only: %s", n, all, lessFilling))
		}
	}
	if t.Defrag.Selected == "always" || t.Defrag.Selected == "madvise" && o.Reserve != 0 {
		out = append(out, fmt.Sprintf("transparent_hugepage/defrag is %s: when no huge page is free, a page fault waits until one is made, milliseconds perhaps: echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag makes others not wait, defer nobody", t.Defrag.Selected))
	}
	return out
}

// unwanted says that the user has told the runtime that the heap is to have no huge
// pages: its mappings are advised against them then, and a reserve would undo that.
func unwanted(godebug string) error {
	for setting := range strings.SplitSeq(godebug, ",") {
		if v, ok := strings.CutPrefix(setting, "disablethp="); ok && v != "0" {
			return errors.New("huge pages are turned off for the heap by GODEBUG=" + setting)
		}
	}
	return nil
}
