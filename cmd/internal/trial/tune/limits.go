package tune

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// Limits are what a setting must keep to in every run, to be recommended.
type Limits struct {
	RSS    uint64        // bytes of peak RSS; 0 for none
	P99    time.Duration // of the load; 0 for none
	Errors *MaxErrors    // nil for none
}

// MaxErrors is how many requests may fail: a number, or a part of all.
type MaxErrors struct {
	Text     string // as it was given
	requests int64
	part     float64 // of all; used where the text is a percentage
}

// ParseMaxErrors reads "10" or "0.1%".
func ParseMaxErrors(s string) (*MaxErrors, error) {
	wrong := fmt.Errorf("--max-errors %q: want a number of requests, or a percentage such as 0.1%%", s)
	if number, ok := strings.CutSuffix(s, "%"); ok {
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v >= 0 && v < 100) {
			return nil, wrong
		}
		return &MaxErrors{Text: s, part: v / 100}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return nil, wrong
	}
	return &MaxErrors{Text: s, requests: n}, nil
}

// Allows says whether so many of all may have failed.
func (m *MaxErrors) Allows(failed, all int64) bool {
	if strings.HasSuffix(m.Text, "%") {
		return float64(failed) <= m.part*float64(all)*(1+1e-12)
	}
	return failed <= m.requests
}

// broken says by what a run breaks the limits, "" where it keeps to them. One in which the
// generator was late tells nothing of the server's latency.
func (l Limits) broken(s *trial.Sample) string {
	if m, ok := memoryOf(s); ok && l.RSS > 0 && m > float64(l.RSS) {
		return fmt.Sprintf("peak RSS %s, more than --max-rss %s", unit.Bytes(m), unit.Exact(l.RSS))
	}
	r := s.Load
	if r == nil || r.Late || !r.Complete || r.Intended == 0 {
		return ""
	}
	switch p99 := r.Latency.P99; {
	case l.Errors != nil && !l.Errors.Allows(r.Failed, r.Intended):
		return fmt.Sprintf("%s of %s failed, more than --max-errors %s", unit.Number(r.Failed), unit.Plural(int(r.Intended), "request"), l.Errors.Text)
	case l.P99 > 0 && p99 == nil:
		return fmt.Sprintf("p99 failed, more than --max-p99 %s", unit.Span(l.P99))
	case l.P99 > 0 && *p99 > l.P99.Seconds():
		return fmt.Sprintf("p99 %s, more than --max-p99 %s", unit.Seconds(*p99), unit.Span(l.P99))
	}
	return ""
}

// broken says by what a run of an arm breaks the limits; "" where all keep to them.
func (r *Result) broken(a *Arm) string {
	for _, s := range a.Samples {
		if why := r.limits.broken(s); why != "" {
			return why
		}
	}
	return ""
}

// allowed says whether an arm may be recommended.
func (r *Result) allowed(a *Arm) bool { return alive(a) && r.broken(a) == "" }

// judge takes out an arm that the program does not survive, or that breaks the limits. The
// default stays, to compare with.
func (r *Result) judge(a *Arm) {
	judgeFailures(a)
	why := r.broken(a)
	switch {
	case why == "":
	case a == r.Arms[0]:
		if a.Status != Failed {
			a.Reason = why
		}
	default:
		a.Status, a.Reason = OverLimit, why
	}
}

// unlimited returns the error for limits that no arm kept to.
func (r *Result) unlimited() error {
	if slices.ContainsFunc(r.Arms, r.allowed) || !slices.ContainsFunc(r.Arms, func(a *Arm) bool { return r.broken(a) != "" }) {
		return nil
	}
	var given []string
	if r.limits.RSS > 0 {
		given = append(given, "--max-rss "+unit.Exact(r.limits.RSS))
	}
	if r.limits.P99 > 0 {
		given = append(given, "--max-p99 "+unit.Span(r.limits.P99))
	}
	if e := r.limits.Errors; e != nil {
		given = append(given, "--max-errors "+e.Text)
	}
	them := "it"
	if len(given) > 1 {
		them = "one of them"
	}
	text := fmt.Sprintf("%s: every measured setting exceeds %s in some run", strings.Join(given, " and "), them)
	if r.limits.RSS > 0 {
		if least, a := r.least(mostMemory); a != nil {
			text += fmt.Sprintf("; the lowest peak RSS is %s, with %s", unit.Bytes(least), a.Name)
		}
	}
	if r.limits.P99 > 0 || r.limits.Errors != nil {
		if least, a := r.least(mostP99); a != nil {
			text += fmt.Sprintf("; the lowest p99 is %s, with %s", unit.Seconds(least), a.Name)
		}
		return errors.New(text + "; allow more, or lower the rate")
	}
	return errors.New(text + "; allow more")
}

// least returns the arm of which the worst run is the best, and how good that is; nil where
// that is known of none.
func (r *Result) least(worst func(*Arm) float64) (v float64, arm *Arm) {
	v = math.Inf(1)
	for _, a := range r.Arms {
		if x := worst(a); a.Status != Failed && len(a.Samples) > 0 && x < v {
			v, arm = x, a
		}
	}
	return v, arm
}

// mostP99 is the p99 of the worst run; infinite where that of some run is not known.
func mostP99(a *Arm) float64 {
	worst := 0.0
	for _, s := range a.Samples {
		if s.Load == nil || s.Late() || s.Load.Latency.P99 == nil {
			return math.Inf(1)
		}
		worst = math.Max(worst, *s.Load.Latency.P99)
	}
	return worst
}
