package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// NearPeakTitle says of what moment the memory of a run is.
func NearPeakTitle(w *result.NearPeak) string {
	at := "at the peak"
	if w.OfPeak < 0.995 {
		at = "at " + unit.Percent(w.OfPeak) + " of the peak"
	}
	of := ""
	if w.Runs > 1 {
		of = fmt.Sprintf(", the highest of %d runs", w.Runs)
	}
	return fmt.Sprintf("Memory %s of RSS%s: process %d (%s), %s after the start", at, of, w.PID, console.Line(w.Name), unit.Seconds(w.At))
}

// WaterfallNotes are the lines below a waterfall: what is not part of RSS, where the heap
// is fragmented, and how sure it is. gc says how the GC is set: see [GCText].
func WaterfallNotes(w *result.Waterfall, gc string) (lines []string) {
	var beyond []string
	for _, b := range []struct {
		name  string
		bytes *uint64
	}{{"page tables", w.PageTables}, {"swap", w.Swap}, {"hugetlb pages", w.HugeTLB}} {
		if b.bytes != nil && *b.bytes > 0 {
			beyond = append(beyond, b.name+" "+unit.Size(*b.bytes))
		}
	}
	if len(beyond) > 0 {
		lines = append(lines, "not part of RSS: "+strings.Join(beyond, ", "))
	}
	if gc != "" {
		lines = append(lines, gc)
	}
	if w.GC == nil {
		for _, r := range w.Runtimes {
			if r.GC != nil {
				lines = append(lines, fmt.Sprintf("%s: Go heap %s, %s", console.Line(r.Name()), SizeOr(r.Heap), GCText(r.GC, true)))
			}
		}
	}
	if text := fragmented(w.Classes); text != "" {
		lines = append(lines, "free in spans, most in objects of: "+text)
	}
	if len(w.Allocators) > 0 {
		lines = append(lines, fmt.Sprintf("%s is loaded: what it holds is other anonymous memory", strings.Join(w.Allocators, ", ")))
	}
	if w.Changing() {
		lines = append(lines, "the process changed while it was read: the parts are of different moments, see \"changed while read\"")
	}
	return append(lines, w.Notes...)
}

// GCText says how the GC is set, and, with cycles, how often it ran; "" if that is not known.
func GCText(gc *result.GCState, cycles bool) string {
	if gc == nil {
		return ""
	}
	gogc, limit := "off", "off"
	if gc.GOGC != nil {
		gogc = strconv.Itoa(*gc.GOGC)
	}
	if gc.Limit != nil {
		limit = unit.Size(*gc.Limit)
	}
	text := fmt.Sprintf("GOGC %s, GOMEMLIMIT %s", gogc, limit)
	if cycles {
		text = unit.Plural(int(gc.Cycles), "GC cycle") + " since its start, " + text
	}
	return text
}

// Reclaimable is the heading of what makes a process smaller.
func Reclaimable(w *result.Waterfall) string {
	return fmt.Sprintf("Reclaimable: up to %s of %s RSS", unit.Size(w.Together), unit.Size(w.RSS))
}

// InUse is the heading of the memory that only the program can drop.
const InUse = "In use"

// AdviceTitle is the action of an advice, with what it gives.
func AdviceTitle(a *result.MemoryAdvice) string {
	switch {
	case a.InUse:
		return fmt.Sprintf("%s: %s", a.Title, unit.Size(a.Bytes))
	case a.Beyond == 0:
		return fmt.Sprintf("%s: up to %s, all of it counted above", a.Title, unit.Size(a.Bytes))
	case a.Beyond < a.Bytes:
		return fmt.Sprintf("%s: up to %s, %s of it counted above", a.Title, unit.Size(a.Bytes), unit.Size(a.Bytes-a.Beyond))
	}
	return fmt.Sprintf("%s: up to %s", a.Title, unit.Size(a.Bytes))
}

// fragmented names the size classes with the most memory that is in no object.
func fragmented(classes []result.MemoryClass) string {
	const most, least = 3, 64 << 10
	var out []string
	for _, c := range classes {
		if c.Unused >= least && len(out) < most {
			out = append(out, fmt.Sprintf("%s (%s)", unit.Exact(c.Size), unit.Size(c.Unused)))
		}
	}
	return strings.Join(out, ", ")
}

// SignedSize is unit.Size of what can be below 0.
func SignedSize(n int64) string {
	if n < 0 {
		return "-" + unit.Size(uint64(-n))
	}
	return unit.Size(uint64(n))
}

// SizeOr prints a size; - for nil, which was not read.
func SizeOr(n *uint64) string {
	if n == nil {
		return none
	}
	return unit.Size(*n)
}
