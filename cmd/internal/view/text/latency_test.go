package text

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// loadedSample is a run of a server under load: half of its 1000 requests took 0.5 ms, the
// slowest tail.
func loadedSample(i int, tail time.Duration) *trial.Sample {
	s := goSample(i)
	r := testLoad(load.Failures{}).Result
	h := &r.Latency.Histogram
	h.Nanoseconds, h.Counts = []int64{512255, 2000895, int64(tail)}, []int64{500, 480, 20}
	at := float64(tail) / 1e9
	r.Latency.P99, r.Latency.P999, r.Latency.Max, r.Latency.SlowestAnswer = &at, &at, &at, &at
	s.Load = &r
	s.Recompute()
	return s
}

func lateSample(i int) *trial.Sample {
	s := loadedSample(i, 12353535)
	s.Load.Late, s.Load.Lateness.P99 = true, new(0.02)
	s.Failure = "the load generator was late: 1 in 100 requests started more than 20.00ms late, where 1.235ms is allowed"
	s.FailureKind = trial.FailedLate
	return s
}

func loadedFile(samples []*trial.Sample) *result.File {
	f := runFile(samples)
	f.Program.Requests = &samples[0].Load.Settings
	analyze(f)
	f.Arms[0].Load = result.SummarizeLoads(samples)
	return f
}

// The sheet of a server under folio's load has its latencies: pooled over all runs, those
// in which the generator was late left out.
func TestRunUnderLoad(t *testing.T) {
	var six []*trial.Sample
	for i := range 6 {
		six = append(six, loadedSample(i+1, time.Duration(12353535+i*1024*1024)))
	}
	failing := loadedSample(1, 12353535)
	failing.Load.Latency.P99, failing.Load.Latency.P999, failing.Load.Latency.Max = nil, nil, nil
	failing.Load.Failures.Status, failing.Load.Failed, failing.Load.Intended = 20, 20, 1020
	failing.Recompute()
	for name, samples := range map[string][]*trial.Sample{
		"six": six, "late": {six[0], lateSample(2), six[2]}, "only-late": {lateSample(1)}, "failing": {failing},
	} {
		f := loadedFile(samples)
		var b, again bytes.Buffer
		if err := show(&b, f, Options{Full: true}); err != nil {
			t.Fatal(err)
		}
		if err := show(&again, savedAgain(t, f), Options{Full: true}); err != nil || again.String() != b.String() {
			t.Errorf("%s, read back, %v:\n%s", name, err, again.String())
		}
		golden(t, "run-load-"+name+".txt", b.Bytes())
	}
}

// A result is read back as it was, and refused where its load does not agree with itself.
func TestLoadIsReadBack(t *testing.T) {
	f := loadedFile([]*trial.Sample{loadedSample(1, 12353535)})
	f.Folio = "v1"
	data, err := f.JSON()
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Read("f.json", data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(r.Program().Arms[0].Samples[0].Load)
	was, _ := json.Marshal(f.Arms[0].Samples[0].Load)
	if err != nil || !bytes.Equal(again, was) {
		t.Errorf("%v: %s, was %s", err, again, was)
	}
	if v, ok := r.Program().Arms[0].Samples[0].OfLoad(metric.CPUPerRequest); !ok || v != f.Arms[0].Samples[0].CPU/1000 {
		t.Errorf("CPU per request: %v", v)
	}
	damaged := strings.Replace(string(data), `"succeeded": 1000`, `"succeeded": 999`, 1)
	if _, err := result.Read("f.json", []byte(damaged)); err == nil || err.Error() != `f.json: damaged: arm "default": load: the counts do not add up` {
		t.Errorf("damaged: %v", err)
	}
}

// loadedFake is a server whose p99 falls with GOGC.
type loadedFake struct{ fake }

func (f *loadedFake) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	s, err := f.fake.Run(ctx, set, req)
	if err != nil {
		return nil, err
	}
	tail := 4*time.Millisecond + time.Duration(*s.GCCycles)*100*time.Microsecond
	s.Load = loadedSample(1, tail).Load
	s.Recompute()
	s.Delays = &trial.Delays{Counts: *delay.Of(delayedRun())}
	if f.trials%9 == 0 {
		s.LateBefore = []float64{0.004}
	}
	return s, nil
}

// delayedRun has 20 slow requests, of which 15 overlap a GC cycle.
func delayedRun() delay.Run {
	r := delay.Run{Span: delay.Span{From: 0, To: 100}, Causes: map[delay.Cause][]delay.Span{delay.Faults: {}}}
	for i := range 1000 {
		at := float64(i) / 10
		s := delay.Span{From: at, To: at + 0.001}
		if i%50 == 0 {
			s.To = at + 0.041
			r.Slow = append(r.Slow, s)
			if i%200 > 0 {
				r.Causes[delay.Cycle] = append(r.Causes[delay.Cycle], delay.Span{From: at, To: at + 0.02})
			}
		}
		r.Some = append(r.Some, s)
	}
	return r
}

// The table of settings has a second one with their latencies; a setting that broke a limit
// is in the table, with the reason.
func TestTuneUnderLoad(t *testing.T) {
	f := &loadedFake{fake{perCycle: 500, now: time.Unix(0, 0)}}
	res, err := tune.Search(t.Context(), f, tune.Options{SafeMemory: 4 << 30, Budget: time.Hour, Seed: 7, MaxRounds: 10,
		Metric: &metric.Spec{Name: metric.P99}, Limits: tune.Limits{P99: 9 * time.Millisecond}, Now: func() time.Time { return f.now }})
	if err != nil {
		t.Fatal(err)
	}
	file := tuneFile(res)
	file.Program.Requests = &res.Warmup.Load.Settings
	var b bytes.Buffer
	if err := show(&b, file, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "tune-load.txt", b.Bytes())
}
