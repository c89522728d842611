package report

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// delaysFile is a run of a server whose requests are slow while it collects garbage.
func delaysFile() *result.File {
	return &result.File{Arms: []result.Arm{{Name: "default", Delays: testDelays(),
		Load: &result.LoadSummary{Runs: 1, P99: result.Percentile{Value: new(0.041)}}}}}
}

func testDelays() *delay.Answer {
	return &delay.Answer{Runs: 1, Slow: 20, Episodes: 8, State: delay.Found, Cause: delay.Assists, None: 0.1, Causes: []delay.Share{
		{Cause: delay.Pause, P: 1},
		{Cause: delay.Throttled, Slow: 0.3, All: 0.02, Chance: 0.05, Excess: 0.25, P: 0.0033, Found: true, Part: 0.3},
		{Cause: delay.Assists, Slow: 0.83, All: 0.12, Chance: 0.2, Excess: 0.63, P: 0.0033, Found: true, Part: 0.6},
		{Cause: delay.Cycle, Slow: 0.85, All: 0.14, Chance: 0.25, Excess: 0.6, P: 0.0033, Found: true},
		{Cause: delay.Faults, Slow: 0.15, All: 0.1, Chance: 0.11, Excess: 0.04, P: 0.4},
	}}
}

func TestDelaysSentence(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(a *result.Arm)
		want   string
	}{
		{"found", func(*result.Arm) {}, "p99 of 41.00ms: 83.0% of the slow requests overlap a GC cycle with assists (12.0% of all requests do; 20.0% of the slow ones would by chance). " +
			"30.0% also overlap throttling by the CPU quota (2.0% of all requests)."},
		{"failed", func(a *result.Arm) { a.Load.P99.Value = nil; a.Delays.Causes = a.Delays.Causes[2:] },
			"p99 failed: 83.0% of the slow requests overlap a GC cycle with assists (12.0% of all requests do; 20.0% of the slow ones would by chance)."},
		{"unclear", func(a *result.Arm) { a.Delays.State = delay.Unclear },
			"p99 of 41.00ms: its cause is unclear: 83.0% of the slow requests overlap a GC cycle with assists, and 20.0% would by chance."},
		{"none", func(a *result.Arm) { a.Delays.State, a.Delays.Cause = delay.None, "" },
			"p99 of 41.00ms: no cause found: 85.0% of the slow requests overlap a GC cycle, and 25.0% would by chance. The same holds of throttling by the CPU quota and page faults above usual."},
		{"none of the GC alone", func(a *result.Arm) {
			a.Delays.State, a.Delays.Cause, a.Delays.Causes = delay.None, "", a.Delays.Causes[3:4]
		},
			"p99 of 41.00ms: no cause found: 85.0% of the slow requests overlap a GC cycle, and 25.0% would by chance."},
		{"no trace", func(a *result.Arm) {
			a.Delays.State, a.Delays.Cause, a.Delays.Causes = delay.None, "", a.Delays.Causes[4:]
		},
			"p99 of 41.00ms: its cause is not known, GC cycles neither. The slow requests are as likely as others to overlap page faults above usual."},
		{"too few", func(a *result.Arm) { a.Delays.State, a.Delays.Slow, a.Delays.Episodes = delay.TooFew, 9, 1 },
			"p99 of 41.00ms: too few slow requests to tell a cause: 9, in 1 group."},
		{"not known", func(a *result.Arm) { a.Delays = nil }, ""},
		{"no run counts", func(a *result.Arm) { a.Load.Runs = 0 }, ""},
		{"a cause that is none", func(a *result.Arm) { a.Delays.Cause = "moon" }, ""},
	} {
		a := &delaysFile().Arms[0]
		c.change(a)
		if got := Delays(a); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A search says what delays requests under the default, and what the answer changes.
func TestDelaysAnswer(t *testing.T) {
	f := delaysFile()
	f.Metric = &result.Target{Name: "cpu"}
	arm := delaysFile().Arms[0]
	arm.Name, arm.Load.P99.Value, arm.Final = "GOGC=300", new(0.012), &tune.Final{Adjusted: 0.013}
	f.Arms = append(f.Arms, arm)
	text := Delays(&f.Arms[0])
	if got := delaysAnswer(f, &f.Arms[0]); got != text {
		t.Errorf("the default is the answer: %q", got)
	}
	if got := delaysAnswer(f, nil); got != text {
		t.Errorf("no answer: %q", got)
	}
	want := func(with string) {
		t.Helper()
		if got, want := delaysAnswer(f, &f.Arms[1]), "Default: "+text+" With GOGC=300 "+with; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	want("p99 is 12.00ms.")
	f.Metric.Name = "p99" // the answer says so of it, adjusted for drift
	want("p99 is 13.00ms.")
	f.Arms[1].Load.P99.Value = nil
	want("p99 failed.")
	f.Arms[0].Delays = nil
	if got := delaysAnswer(f, &f.Arms[1]); got != "" {
		t.Errorf("not known: %q", got)
	}
}

func TestExcess(t *testing.T) {
	s := result.DelayShare{Excess: 0.634}
	if got := Excess(s); got != "63.4%" {
		t.Error(got)
	}
	s.Lo, s.Hi = new(0.5), new(0.7)
	if got := Excess(s); got != "63.4% [50.0%, 70.0%]" {
		t.Error(got)
	}
}
