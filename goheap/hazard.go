package goheap

import (
	"errors"
	"strings"

	"github.com/foliomem/folio/internal/base/advice"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// facts are what package advice looks at.
func facts(t procmem.THP, o Options) *advice.Facts {
	return &advice.Facts{
		Enabled: t.Enabled.Selected, Defrag: t.Defrag.Selected, MaxPtesNone: t.MaxPtesNone,
		WindowPages: page.WindowSize() / page.Size(), Asks: o.reserves(),
	}
}

// fills reports whether khugepaged makes huge pages of windows that are
// far from full.
func fills(t procmem.THP) bool { return facts(t, Options{}).Fills() }

// hazards says which settings of the system work against a heap on huge pages,
// and what goheap does about it.
func hazards(t procmem.THP, o Options) (out []string) {
	for _, a := range advice.Find(facts(t, o)) {
		line := a.Line()
		if a.Rule == "max-ptes-none" {
			line += " (until then goheap advises what the heap has against huge pages, and collapses it itself)"
		}
		out = append(out, line)
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
