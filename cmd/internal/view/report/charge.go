package report

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// ChargeSum says how much a cgroup is charged, and of which limit.
func ChargeSum(f *result.Charge) string {
	text := unit.Size(f.Charged) + " charged"
	if l := f.Limit; l != nil && *l > 0 {
		text += fmt.Sprintf(", %s of the limit of %s", unit.Percent(float64(f.Charged)/float64(*l)), unit.Size(*l))
	} else {
		text += ", no limit"
	}
	return text + "; " + unit.Plural(len(f.Processes), "process")
}

// ChargeBack says how much of a charge comes back by itself.
func ChargeBack(f *result.Charge) string {
	back, stays := f.Back()
	text := fmt.Sprintf("Reclaimable under pressure: %s; not reclaimable: %s", unit.Size(back), unit.Size(stays))
	if rest := f.Charged - min(f.Charged, back+stays); rest > f.Charged/1000 {
		text += fmt.Sprintf("; not known: %s", unit.Size(rest))
	}
	return text + "."
}

// ChargeDoubts say where the parts are not those of one moment.
func ChargeDoubts(f *result.Charge) (lines []string) {
	if f.Excess > f.Charged/50 {
		lines = append(lines, fmt.Sprintf("the parts are %s more than the charge: they were read one after the other", unit.Size(f.Excess)))
	}
	if m := max(f.Moved, -f.Moved); uint64(m) > f.Charged/50 {
		lines = append(lines, fmt.Sprintf("the charge changed by %s while it was read: the parts are of different moments", SignedSize(f.Moved)))
	}
	return lines
}

// ChargeNotes are the lines below the parts of a charge.
func ChargeNotes(f *result.Charge) (lines []string) {
	var cache []string
	for _, b := range []struct {
		name  string
		bytes *uint64
	}{{"dirty", f.Dirty}, {"being written", f.Writeback}, {"mapped by processes, with shared memory", f.Mapped}} {
		if b.bytes != nil && *b.bytes > 0 {
			cache = append(cache, b.name+" "+unit.Size(*b.bytes))
		}
	}
	if len(cache) > 0 {
		lines = append(lines, "of the page cache: "+strings.Join(cache, ", "))
	}
	if f.LazyFree > 0 {
		lines = append(lines, fmt.Sprintf("of anonymous memory %s are freed (MADV_FREE): they come back by themselves", unit.Size(f.LazyFree)))
	}
	if f.Reserve > 0 {
		lines = append(lines, fmt.Sprintf("not explained: up to %s can be what the kernel charges in advance, for each CPU", unit.Size(f.Reserve)))
	}
	var beside []string
	for _, b := range []struct {
		name  string
		bytes *uint64
	}{{"swap", f.Swap}, {"TCP buffers (memory.kmem.tcp)", f.TCP}} {
		if b.bytes != nil && *b.bytes > 0 {
			beside = append(beside, b.name+" "+unit.Size(*b.bytes))
		}
	}
	if len(beside) > 0 {
		lines = append(lines, "not part of the charge: "+strings.Join(beside, ", "))
	}
	return lines
}
