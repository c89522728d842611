package diagnose

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/internal/base/unit"
)

// lookIgnored finds settings that the runtime does not read as they are meant. With a GOMEMLIMIT
// of that kind no program starts.
func lookIgnored(f *Facts) (out []Finding, err error) {
	p := f.Process
	env, err := p.Environ.get()
	if err != nil {
		return nil, err
	}
	for _, problem := range gosetting.CheckAll(env, p.release()) {
		key, _, _ := strings.Cut(problem.Variable, "=")
		evidence := []Reading{{p.file("environ"), problem.Variable}}
		if r, err := p.Runtime.get(); err == nil && r.After.Percent != nil && key == "GOGC" {
			if *r.After.Percent != 100 {
				continue // the program set it itself
			}
			evidence = append(evidence, p.runtime("GOGC is 100"))
		}
		fix := Step{Do: "Correct it, and start the program again:", Code: problem.Meant}
		if fix.Code == "" {
			fix = Step{Do: "Remove it, and start the program again:", Code: "unset " + key}
			if setting, ok := strings.CutPrefix(problem.Variable, "GODEBUG="); ok {
				fix = Step{Do: "Take it out of GODEBUG:", Code: setting}
			}
		}
		means := problem.Does
		if problem.Want != "" && problem.Meant == "" {
			means += "; want " + problem.Want
		} else if problem.Meant != "" {
			means += "; write " + problem.Meant
		}
		h := Finding{
			What:     "The Go runtime does not read " + problem.Variable + ".",
			Evidence: evidence,
			Means:    "It is as if it were not set: " + means + ".",
			Fix:      []Step{fix},
		}
		if problem.Unknown {
			h.Severity = Note
		}
		out = append(out, h)
	}
	return out, nil
}

// lookOverridden compares what the environment asks for with what is in effect.
func lookOverridden(f *Facts) (out []Finding, err error) {
	p := f.Process
	percent, _, err := p.env("GOGC")
	if err != nil {
		return nil, err
	}
	limit, _, err := p.env("GOMEMLIMIT")
	if err != nil || percent == "" && limit == "" {
		return nil, err
	}
	r, err := p.Runtime.get()
	if err != nil {
		return nil, err
	}
	add := func(variable, effect, call string) {
		key, _, _ := strings.Cut(variable, "=")
		out = append(out, Finding{
			What:     fmt.Sprintf("%s is not in effect: the program runs with %s.", variable, effect),
			Evidence: []Reading{{p.file("environ"), variable}, p.runtime("%s", effect)},
			Means:    "The program, a package that it imports (" + call + "), or folio set, set another value after its start. Another " + key + " in the environment changes nothing.",
			Fix:      []Step{{Do: "Find what sets it, or remove the variable:", Code: call}},
		})
	}
	if is := r.After.Percent; percent != "" && is != nil && gosetting.Check("GOGC="+percent, "") == nil && gogcOf(percent) != max(*is, -1) {
		effect := "GOGC=off"
		if *is >= 0 {
			effect = "GOGC=" + strconv.Itoa(*is)
		}
		add("GOGC="+percent, effect, "debug.SetGCPercent")
	}
	if is := r.After.Limit; limit != "" && is != nil && gosetting.Check("GOMEMLIMIT="+limit, "") == nil && limitOf(limit) != *is {
		effect := "no memory limit"
		if *is != math.MaxInt64 {
			effect = "GOMEMLIMIT=" + unit.Exact(uint64(max(*is, 0)))
		}
		add("GOMEMLIMIT="+limit, effect, "debug.SetMemoryLimit")
	}
	return out, nil
}

// gogcOf is the percentage of a value of GOGC that the runtime reads: -1 for off.
func gogcOf(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil { // off
		return -1
	}
	return max(n, -1)
}

// limitOf is the limit of a value of GOMEMLIMIT that the runtime reads.
func limitOf(value string) int64 {
	n, err := unit.ParseSize(value)
	if err != nil { // off
		return math.MaxInt64
	}
	return int64(min(n, math.MaxInt64))
}
