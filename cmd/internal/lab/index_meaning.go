package lab

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/internal/base/unit"
)

// indexMemory is how much of stock's peak memory a setting may take to be called
// the best.
const indexMemory = 2

// indexMeaning says what each of Folio's means gains alone, and what all gain
// together.
func indexMeaning(o *Outcome) []string {
	base := o.Arm(stock)
	if o.at(base, o.Params.Size, opKey) == 0 {
		return nil
	}
	out := []string{fmt.Sprintf("Stock takes in %s documents/s, with a peak of %s.",
		unit.Rate(o.at(base, o.Params.Size, "documents_per_second")), o.bytes(base))}
	if huge := o.at(base, o.Params.Size, "huge_fraction"); huge > 0.05 {
		out = append(out, fmt.Sprintf("Stock has %s of its memory on huge pages here, which the system gives to all: there is less to gain.", unit.Percent(huge)))
	}
	for _, name := range []string{overlay.MallocPrefetch, overlay.HeapHugePages, withAuto} {
		if text := o.gain(name, base, o.Arm(name)); text != "" {
			out = append(out, text)
		}
	}
	out = append(out, o.bestIndex("GOGC alone", "gogc-", base), o.bestIndex("All together, with no change to the program", "all-gogc-", base))
	if text := o.gain("The patches and package auto, which chooses GOGC itself", base, o.Arm("all-auto")); text != "" {
		out = append(out, text)
	}
	out = append(out, o.sameAsStock(base, o.Arm("hugepages-off")))
	return trimEmpty(out)
}

// gain says how many times the documents an arm takes in, for what memory.
func (o *Outcome) gain(what string, base, a *ArmResult) string {
	r := o.times(base, a, opKey)
	if r == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s the documents/s%s.", what, r, o.memory(base, a))
}

// bestIndex says which value of GOGC is the fastest of the arms with a prefix that
// take no more memory than may be.
func (o *Outcome) bestIndex(what, prefix string, base *ArmResult) string {
	var best *ArmResult
	found := 0.0
	for _, v := range indexGOGC {
		a := o.Arm(prefix + v)
		gain, memory := o.ratio(base, a, opKey), o.ratio(a, base, "peak_rss_bytes")
		if gain > found && memory > 0 && memory <= indexMemory {
			best, found = a, gain
		}
	}
	if best == nil {
		if o.ratio(base, o.Arm(prefix+indexGOGC[0]), opKey) == 0 {
			return ""
		}
		return fmt.Sprintf("%s: every value that was tried takes more than %d times the memory of stock.", what, indexMemory)
	}
	return o.gain(fmt.Sprintf("%s, the best value within %d times the memory being %s", what, indexMemory, best.Arm.Setting.GOGC), base, best)
}

// sameAsStock says whether a patched program whose patch is turned off is as stock.
func (o *Outcome) sameAsStock(base, off *ArmResult) string {
	if o.ratio(base, off, opKey) == 0 {
		return ""
	}
	text := fmt.Sprintf("Patched, but turned off, it takes %s of stock's time and has %s of its page faults",
		o.part(base, off, opKey), o.part(base, off, "faults"))
	c := stat.Compare(base.Values(o.Params.Size, opKey), off.Values(o.Params.Size, opKey))
	switch {
	case c.Different:
		text += fmt.Sprintf(": a difference (p=%.3f).", c.P)
	case min(c.N1, c.N2) < enoughRounds:
		text += ": too few rounds to tell a difference."
	default:
		text += fmt.Sprintf(": no difference that these rounds show (p=%.3f).", c.P)
	}
	return text
}

func trimEmpty(texts []string) (out []string) {
	for _, s := range texts {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
