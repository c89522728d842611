package lab

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
)

// arenasMeaning says what the figures of an experiment on arenas mean: of Folio's
// arenas as they are, then of each thing that they do, then of the other ways.
func arenasMeaning(o *Outcome, what string) []string {
	var out []string
	plain, folio := o.Arm("new"), o.Arm("folio")
	if o.ratio(plain, folio, "wall_seconds") > 0 {
		text := fmt.Sprintf("%s: Folio's arenas are %s as fast as new (%s instead of %s), in %s of the processor time", what,
			o.times(plain, folio, "wall_seconds"), o.seconds(folio, "wall_seconds"), o.seconds(plain, "wall_seconds"), o.part(plain, folio, "cpu_seconds"))
		text += o.memory(plain, folio) + "."
		if !o.gains(plain, folio) {
			text += " In time they gain nothing here."
		}
		out = append(out, text)
	}
	out = append(out, o.hugeArenas(folio, o.Arm("folio-base"))...)
	if keep := o.Arm("folio-keep"); o.ratio(folio, keep, "peak_rss_bytes") > 0 {
		out = append(out, fmt.Sprintf("Without early release they are %s as fast, and the peak is %s instead of %s.",
			o.times(folio, keep, "wall_seconds"), o.bytes(keep), o.bytes(folio)))
	}
	return append(out, o.otherThanArenas(plain, folio)...)
}

// hugeArenas says what the huge pages of Folio's arenas gain.
func (o *Outcome) hugeArenas(folio, base *ArmResult) []string {
	if o.ratio(base, folio, "wall_seconds") == 0 {
		return nil
	}
	text := fmt.Sprintf("Their huge pages make them %s as fast, with %s of the faults", o.times(base, folio, "wall_seconds"), o.part(base, folio, "faults"))
	if huge := folio.Values(o.Params.Size, "huge_fraction"); len(huge) > 0 {
		text += fmt.Sprintf("; measured, %.0f%% of the process's memory was huge", 100*stat.Median(huge))
		if stat.Median(huge) < 0.05 {
			return []string{fmt.Sprintf("They asked for huge pages and got next to none: %.0f%% of the process's memory was huge.", 100*stat.Median(huge))}
		}
	}
	return []string{text + "."}
}

// otherThanArenas says how near one comes with settings of the collector, and
// with the arenas of Go's experiment.
func (o *Outcome) otherThanArenas(plain, folio *ArmResult) []string {
	var out []string
	var best *ArmResult
	for _, name := range []string{"gogc-400", "gogc-800", "gogc-off"} {
		a := o.Arm(name)
		if r := o.ratio(plain, a, "wall_seconds"); r > 0 && (best == nil || r > o.ratio(plain, best, "wall_seconds")) {
			best = a
		}
	}
	if best != nil {
		s := best.Arm.Setting
		set := "GOGC=" + s.GOGC
		if s.MemLimit > 0 {
			set += " and GOMEMLIMIT=" + trial.FormatBytes(s.MemLimit)
		}
		text := fmt.Sprintf("Without a change to the program, %s is %s as fast as new", set, o.times(plain, best, "wall_seconds"))
		if !o.gains(plain, best) {
			text = "Settings of the collector gain no time here: the best, " + set + ", is " + o.times(plain, best, "wall_seconds") + " as fast"
		}
		text += o.memory(plain, best)
		if r := o.times(best, folio, "wall_seconds"); r != "" {
			text += "; Folio's arenas are " + r + " as fast as that"
		}
		out = append(out, text+".")
	}
	if a := o.Arm(goArenas); o.ratio(plain, a, "wall_seconds") > 0 {
		text := fmt.Sprintf("The arenas of Go's experiment are %s as fast as new", o.times(plain, a, "wall_seconds")) + o.memory(plain, a)
		if r := o.times(a, folio, "wall_seconds"); r != "" {
			text += "; Folio's are " + r + " as fast as they are"
		}
		out = append(out, text+".")
	}
	return out
}

// memory says which part of another arm's faults and memory an arm takes.
func (o *Outcome) memory(base, a *ArmResult) string {
	var parts []string
	if f := o.part(base, a, "faults"); f != "" {
		parts = append(parts, f+" of its page faults")
	}
	if m := o.part(base, a, "peak_rss_bytes"); m != "" {
		parts = append(parts, m+" of its peak memory")
	}
	if len(parts) == 0 {
		return ""
	}
	return ", with " + strings.Join(parts, " and ")
}

// part returns an arm's figure as a part of another's, "" if that is not known.
func (o *Outcome) part(base, a *ArmResult, key string) string {
	r := o.ratio(a, base, key)
	switch {
	case r == 0:
		return ""
	case r < 0.1:
		return fmt.Sprintf("%.1f%%", 100*r)
	}
	return fmt.Sprintf("%.0f%%", 100*r)
}

// gains says that an arm takes less time than another, or that too few rounds
// ran to tell.
func (o *Outcome) gains(base, a *ArmResult) bool {
	x, y := base.Values(o.Params.Size, "wall_seconds"), a.Values(o.Params.Size, "wall_seconds")
	if stat.Compare(x, y).Different {
		return stat.Median(y) < stat.Median(x)
	}
	return min(len(x), len(y)) < enoughRounds && stat.Median(y) < stat.Median(x)
}

// enoughRounds are as many as there must be for what is undecided to be taken for
// equal.
const enoughRounds = 6

func (o *Outcome) seconds(a *ArmResult, key string) string {
	return fmt.Sprintf("%.3g s", o.at(a, o.Params.Size, key))
}

func (o *Outcome) bytes(a *ArmResult) string {
	return fmt.Sprintf("%.0f MiB", o.at(a, o.Params.Size, "peak_rss_bytes")/(1<<20))
}
