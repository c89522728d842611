package text

import (
	"bytes"
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/live"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/document"
)

// A fakeLive is a process whose GC takes a fifth of its CPU time, and which breaks a guardrail
// with GOGC=800.
type fakeLive struct {
	record live.Record
	now    time.Time
}

func (f *fakeLive) Run(_ context.Context, set trial.Setting, _ trial.Request) (*trial.Sample, error) {
	n := len(f.record.Blocks)
	begin := f.now.Sub(time.Unix(0, 0)).Seconds()
	f.now = f.now.Add(12 * time.Second)
	percent := 100.0
	if set.GOGC != "" {
		percent, _ = strconv.ParseFloat(set.GOGC, 64)
	}
	cpu := 4 * (0.8 + 20/percent) * (1 + 0.01*float64(n%5))
	peak := uint64(100+percent) << 20
	b := live.Block{Setting: set.String(), Start: begin, Counted: begin + 2, End: begin + 12, PeakRSS: &peak}
	if percent == 800 {
		b.Counted, b.End, b.Left = begin+3, begin+3, "RSS 901.0MiB, more than --max-rss 900MiB"
		f.record.Blocks = append(f.record.Blocks, b)
		return &trial.Sample{Wall: 3, PeakRSS: &peak, PeakRSSSource: trial.Sampled, Failure: b.Left, FailureKind: trial.FailedGuardrail}, nil
	}
	b.CPU, b.Allocated, b.GCCPU, b.GCCycles, b.Peak = &cpu, new(uint64(4<<30)), new(cpu/5), new(uint64(4000/percent)), &peak
	b.Requests, b.Errors, b.P50, b.P99 = new(20_000.0), new(2.0), new(0.002), new(0.02*(1+20/percent))
	f.record.Blocks = append(f.record.Blocks, b)
	s := &trial.Sample{Wall: 10, User: cpu, CPU: cpu, PeakRSS: &peak, PeakRSSSource: trial.Sampled, Processes: 1, MinorFaults: 100,
		GCCounted: trial.GCComplete, GCCycles: new(int(4000 / percent)), GCRuntimeCPU: new(cpu / 5), GCPause: new(0.01), Metrics: map[string]float64{metric.CPUPerGiB: cpu / 4}}
	s.SetRequests(&trial.Requests{Count: *b.Requests, Errors: *b.Errors, P50: b.P50, P99: b.P99})
	return s, nil
}

// liveFile is the result of a search on that process; with nothing to gain, of one that was not made.
func liveFile(t *testing.T, nothing bool) *result.File {
	t.Helper()
	f := &fakeLive{now: time.Unix(0, 0), record: live.Record{PID: 4711, Name: "server", GOGC: "100", BlockSeconds: 10, Restored: true, Blocks: []live.Block{},
		Requests:   "http://127.0.0.1:9090/metrics#http_seconds",
		Before:     live.Share{Windows: 6, Seconds: 30, Cycles: 40, CPU: 12, Allocated: 12 << 30, GC: 0.2, Lo: 0.19, Hi: 0.21},
		Guardrails: live.Rails{MemoryBytes: new(uint64(900 << 20)), Memory: "--max-rss"},
		NotTried:   []live.Not{{Setting: "GOGC=off GOMEMLIMIT=800MiB", Reason: "its GC cycles would be about 2m apart: give --budget 1h12m or more"}},
	}}
	spec := &metric.Spec{Name: metric.CPUPerRequest}
	var res *tune.Result
	if nothing {
		s, err := f.Run(t.Context(), trial.Setting{}, trial.Request{})
		if err != nil {
			t.Fatal(err)
		}
		s.Round, s.Sequence = 1, 1
		arm := &tune.Arm{Arm: trial.NewArm(trial.Setting{})}
		arm.Samples = append(arm.Samples, s)
		res = tune.Without(arm, spec, "the GC takes at most 0.4% of CPU time (0.1% to 0.4% in 6 windows of 5.000s), and no setting can save more", 30*time.Second)
		f.record.Blocks, f.record.NotTried = []live.Block{}, []live.Not{}
	} else {
		var err error
		res, err = tune.Search(t.Context(), f, tune.Options{Metric: spec, Budget: 15 * time.Minute, Seed: 1, Now: func() time.Time { return f.now },
			PID: 4711, Only: tune.Levels([]int{200, 400, 800}, 0), FixedTHP: true, ReadGC: true, SafeMemory: 1 << 40})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		line := &f.record.Timeline
		line.Seconds, line.RSS, line.Heap, line.Live = append(line.Seconds, float64(200*i)), append(line.RSS, uint64(200+i)<<20), append(line.Heap, 150<<20), append(line.Live, 100<<20)
		line.Allocated, line.CPU, line.Requests = append(line.Allocated, uint64(i)<<30), append(line.CPU, float64(80*i)), append(line.Requests, float64(400_000*i))
	}
	f.record.Timeline.Stride = 1
	out := &result.File{Header: result.Header{Schema: result.Schema, Kind: result.KindTune}, Host: testHost(), Complete: true, Notes: res.Notes, Live: &f.record,
		Program: result.Program{Command: []string{"./server", "-v"}, GoVersion: new("go1.26.8"), Attached: 4711}}
	out.SetTune(res)
	document.SetNotes(out, []string{"the default is what the process had: GOGC=100, GOMEMLIMIT=off"})
	return out
}

func TestLiveText(t *testing.T) {
	for name, nothing := range map[string]bool{"attach": false, "attach-nothing": true} {
		f := liveFile(t, nothing)
		var b bytes.Buffer
		if err := show(&b, f, Options{}); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n--full\n\n")
		if err := show(&b, f, Options{Full: true}); err != nil {
			t.Fatal(err)
		}
		if !nothing {
			p, err := kubernetes.OfTune(f)
			if err != nil {
				t.Fatal(err)
			}
			target, err := kubernetes.ParseTarget("deployment/orders:server")
			if err != nil {
				t.Fatal(err)
			}
			text, err := p.YAML(target)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString("\n" + text)
		}
		golden(t, "tune-"+name+".txt", b.Bytes())
		var again bytes.Buffer
		if err := show(&again, savedAgain(t, f), Options{}); err != nil || !bytes.HasPrefix(b.Bytes(), again.Bytes()) {
			t.Errorf("read back, %v:\n%s", err, again.String())
		}
	}
}
