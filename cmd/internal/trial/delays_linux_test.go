package trial

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/internal/test/testenv"
)

// overlapOf returns what is known of a cause; nil for nothing.
func (d *Delays) overlapOf(c delay.Cause) *delay.Overlap {
	for i := range d.Causes {
		if d.Causes[i].Cause == c {
			return &d.Causes[i]
		}
	}
	return nil
}

// checkDelays checks what holds of the delays of every sample.
func checkDelays(t *testing.T, s *Sample) {
	t.Helper()
	d := s.Delays
	if d == nil || d.Looks < 1 || d.Cost <= 0 {
		t.Fatalf("delays %+v", d)
	}
	ended := s.Load.Succeeded + s.Load.Failures.Timeout
	if int64(d.Some) != ended || int64(d.Slow) != ended-ended*99/100 && int64(d.Slow) != ended-ended*99/100+1 || d.Episodes < 1 || d.Episodes > d.Slow {
		t.Errorf("%d slow requests in %d episodes, %d chosen of %d", d.Slow, d.Episodes, d.Some, ended)
	}
	for _, o := range d.Causes {
		if o.Seconds < 0 || o.Seconds > s.Wall+0.1 || o.Slow > d.Slow || o.Some > d.Some || o.Chance < 0 || o.Chance > float64(d.Slow) {
			t.Errorf("%+v of %d and %d requests, %v s", o, d.Slow, d.Some, s.Wall)
		}
	}
}

// A server that collects all the time: its slow requests and its GC cycles are recorded on
// one clock.
func TestDelaysOfGC(t *testing.T) {
	testenv.Long(t)
	if testenv.Apart(t) {
		return
	}
	p := generated(t, "live=16", "garbage=2048")
	p.Server.run, p.ReadGC, p.Delays, p.KeepSeries = punctual, true, true, true
	p.Server.Generator.Duration = 1500 * time.Millisecond
	p.Server.Generator.Timeout = time.Minute // on a busy machine the requests queue for longer than the usual five seconds
	s := run(t, p, Setting{GOGC: "5"})
	if !s.OK() {
		t.Fatal(s.Failure)
	}
	checkDelays(t, s)
	o := s.Load.OverTime
	if err := s.Load.Check(); err != nil || o == nil || o.Start == nil || s.Load.Kept != nil {
		t.Fatalf("over time %+v, %v", o, err)
	}
	cycle, pause, assists, faults := s.Delays.overlapOf(delay.Cycle), s.Delays.overlapOf(delay.Pause), s.Delays.overlapOf(delay.Assists), s.Delays.overlapOf(delay.Faults)
	if s.GCCounted != GCComplete || pause == nil || faults == nil || (cycle == nil) != (assists == nil) {
		t.Fatalf("trace %q: %+v", s.GCCounted, s.Delays)
	}
	causes := 4
	if cycle == nil { // folio did not come to look at more than a few
		cycle, assists, causes = &delay.Overlap{Some: 1, Seconds: s.Wall}, &delay.Overlap{}, 2
		t.Log("for how long cycles ran is not known")
	}
	// Each request makes more garbage than the heap may grow by.
	if cycle.Some == 0 || cycle.Seconds <= 0 || pause.Seconds <= 0 {
		t.Errorf("%d requests overlap GC cycles of %v s, with pauses of %v s", cycle.Some, cycle.Seconds, pause.Seconds)
	}
	if pause.Seconds > cycle.Seconds || assists.Seconds > cycle.Seconds || assists.Slow > cycle.Slow || assists.Some > cycle.Some {
		t.Errorf("cycles %+v, pauses %+v, assists %+v", cycle, pause, assists)
	}
	// There is no quota.
	if s.Delays.overlapOf(delay.Throttled) != nil || s.Series.Throttled != nil {
		t.Errorf("%+v", s.Delays)
	}
	// The load began after the server, and cycles ended while that ran: 200 requests before.
	if *o.Start < 0.2 || *o.Start > 60 || s.Series.GC.Len() == 0 || s.Series.GC.Seconds[s.Series.GC.Len()-1] < *o.Start {
		t.Errorf("the load began at %v s, the last of %d cycles ended at %v", *o.Start, s.Series.GC.Len(), s.Series.GC.Seconds)
	}
	a := DelaysOf([]*Sample{s, s})
	if a == nil || a.Runs != 2 || a.Slow != 2*s.Delays.Slow || len(a.Causes) != causes {
		t.Fatalf("%+v", a)
	}
	parts := a.None
	for _, c := range a.Causes {
		parts += c.Part
	}
	if parts < 1-1e-9 || parts > 1+1e-9 {
		t.Errorf("the parts are %v together: %+v", parts, a)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Sample
	if err := json.Unmarshal(data, &again); err != nil || again.Delays == nil || again.Delays.Slow != s.Delays.Slow || DelaysOf([]*Sample{&again}) != nil {
		t.Errorf("read back: %+v, %v", again.Delays, err)
	}
}

// A quota that runs out is seen while it does.
func TestDelaysOfQuota(t *testing.T) {
	testenv.Long(t)
	if testenv.Apart(t) {
		return
	}
	p := generated(t, "live=1", "garbage=2048")
	p.Cgroups = limited(t, 0, 0.1)
	p.Server.run, p.Delays, p.KeepSeries = punctual, true, true
	p.Server.Generator.Timeout = 20 * time.Second
	s := run(t, p, Setting{GOGC: "5"})
	if !s.OK() {
		t.Fatal(s.Failure)
	}
	checkDelays(t, s)
	quota := s.Delays.overlapOf(delay.Throttled)
	if quota == nil || quota.Slow == 0 || quota.Seconds <= 0 || s.Throttled == nil || quota.Seconds > *s.Throttled {
		t.Errorf("throttled for %v s: %+v", s.Throttled, quota)
	}
	// Nobody asked for the trace: nothing is known of GC cycles.
	if s.Delays.overlapOf(delay.Cycle) != nil || s.Delays.overlapOf(delay.Pause) != nil {
		t.Errorf("%+v", s.Delays)
	}
	sum := 0.0
	if s.Series.Throttled == nil {
		t.Fatal("throttling over time is not kept")
	}
	for _, v := range s.Series.Throttled.Counts {
		sum += v
	}
	if sum <= 0 || sum > *s.Throttled*1.001 {
		t.Errorf("throttled for %v s over time, %v in all", sum, *s.Throttled)
	}
}

func TestDelaysAreAskedFor(t *testing.T) {
	p := generated(t)
	p.Server.run, p.ReadGC = punctual, true
	if s := run(t, p, Setting{}); !s.OK() || s.Delays != nil || s.Series != nil || s.Load.OverTime != nil || DelaysOf([]*Sample{s}) != nil {
		t.Errorf("%s: %+v", s.Failure, s.Delays)
	}
}
