package lab

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/unit"
)

// arenasMeaning says what the figures of an experiment on arenas mean: of Folio's
// arenas as they are, then of each thing that they do, then of the other ways.
func arenasMeaning(o *Outcome, what string) []string {
	var out []string
	plain, folio := o.Arm("new"), o.Arm("folio")
	if o.ratio(plain, folio, "wall_seconds") > 0 {
		text := fmt.Sprintf("%s: Folio's arenas take %s, new %s", what, o.seconds(folio, "wall_seconds"), o.seconds(plain, "wall_seconds"))
		if r := o.times(plain, folio, "wall_seconds"); r != "" {
			text += ": " + r + " as fast"
		}
		if o.times(plain, folio, "cpu_seconds") != "" {
			text += ", in " + o.part(plain, folio, "cpu_seconds") + " of the CPU time"
		}
		out = append(out, text+o.memory(plain, folio)+".")
	}
	out = append(out, o.hugeArenas(folio, o.Arm("folio-base"))...)
	if keep := o.Arm("folio-keep"); o.ratio(folio, keep, "peak_rss_bytes") > 0 {
		text := "Without early release "
		if r := o.times(folio, keep, "wall_seconds"); r != "" {
			text += "they are " + r + " as fast, and "
		}
		out = append(out, text+fmt.Sprintf("the peak is %s instead of %s.", o.bytes(keep), o.bytes(folio)))
	}
	return append(out, o.otherThanArenas(plain, folio)...)
}

// hugeArenas says what the huge pages of Folio's arenas gain.
func (o *Outcome) hugeArenas(folio, base *ArmResult) []string {
	if o.ratio(base, folio, "wall_seconds") == 0 {
		return nil
	}
	text := fmt.Sprintf("Their huge pages take %s of the faults", o.part(base, folio, "faults"))
	if r := o.times(base, folio, "wall_seconds"); r != "" {
		text = fmt.Sprintf("Their huge pages make them %s as fast, with %s of the faults", r, o.part(base, folio, "faults"))
	}
	if huge := folio.Values(o.Params.Size, "huge_fraction"); len(huge) > 0 {
		text += fmt.Sprintf("; measured, %s of the process's memory was huge", unit.Percent(stat.Median(huge)))
		if stat.Median(huge) < 0.05 {
			return []string{fmt.Sprintf("They asked for huge pages and got next to none: %s of the process's memory was huge.",
				unit.Percent(stat.Median(huge)))}
		}
	}
	return []string{text + "."}
}

// otherThanArenas says how near one comes with settings of the GC, and
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
			set += " and GOMEMLIMIT=" + unit.Exact(s.MemLimit)
		}
		if r := o.times(plain, best, "wall_seconds"); r != "" {
			text := fmt.Sprintf("Without a change to the program, %s is %s as fast as new", set, r) + o.memory(plain, best)
			if r := o.times(best, folio, "wall_seconds"); r != "" {
				text += "; Folio's arenas are " + r + " as fast as that"
			}
			out = append(out, text+".")
		}
	}
	if a := o.Arm(goArenas); o.ratio(plain, a, "wall_seconds") > 0 {
		text := fmt.Sprintf("The arenas of Go's experiment take %s", o.seconds(a, "wall_seconds"))
		if r := o.times(plain, a, "wall_seconds"); r != "" {
			text = fmt.Sprintf("The arenas of Go's experiment are %s as fast as new", r)
		}
		text += o.memory(plain, a)
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
		parts = append(parts, m+" of its peak RSS")
	}
	if len(parts) == 0 {
		return ""
	}
	return ", with " + strings.Join(parts, " and ")
}

// part returns an arm's figure as a part of another's, "" if that is not known.
func (o *Outcome) part(base, a *ArmResult, key string) string {
	r := o.ratio(a, base, key)
	if r == 0 {
		return ""
	}
	return unit.Percent(r)
}

// enoughRounds are as many as there must be for what is undecided to be taken for
// equal.
const enoughRounds = 6

func (o *Outcome) seconds(a *ArmResult, key string) string {
	return unit.Seconds(o.at(a, o.Params.Size, key))
}

func (o *Outcome) bytes(a *ArmResult) string {
	return unit.Bytes(o.at(a, o.Params.Size, "peak_rss_bytes"))
}
