package trial

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/test/testenv"
)

// generated returns a trial of a server under a load of folio's own.
func generated(t *testing.T, options ...string) *subject {
	t.Helper()
	p := server(t, 0, options...)
	p.Server.Load = ""
	p.Server.Generator = &load.Options{
		URLs: []string{"http://" + p.Server.Ready.addr + "/"}, Rate: 100, Duration: 400 * time.Millisecond, Warmup: 200 * time.Millisecond,
	}
	return p
}

// punctual makes a result count however busy the machine is.
func punctual(ctx context.Context, o load.Options) (*load.Result, error) {
	r, err := load.Run(ctx, o)
	if r != nil {
		r.Lateness.P99, r.Late = new(0.0), false
	}
	return r, err
}

// The GC of folio is held while it sends requests, and as it was after them.
func TestGenerateHoldsGC(t *testing.T) {
	gogc := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	p, before, during := generated(t), gogc(), uint64(0)
	p.Server.run = func(ctx context.Context, o load.Options) (*load.Result, error) {
		during = gogc()
		return punctual(ctx, o)
	}
	if s := run(t, p, Setting{}); !s.OK() {
		t.Fatalf("failure %q", s.Failure)
	}
	if during <= before || gogc() != before {
		t.Errorf("GOGC is %d before a load, %d during it and %d after it", before, during, gogc())
	}
}

// As many requests arrive as were intended, and all figures are of those after the
// warm-up.
func TestGenerate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "arrived")
	p := generated(t, "log="+file, "burn=300", "gc=100", "touch=40")
	p.Server.run, p.ReadGC = punctual, true
	s := run(t, p, Setting{})
	if !s.OK() || s.Signal != "SIGTERM" {
		t.Fatalf("failure %q, signal %q", s.Failure, s.Signal)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if l := s.Load; l.Intended != 40 || l.Succeeded != 40 || !l.Complete || l.Status["2xx"] != 40 || info.Size() != 60 {
		t.Errorf("%d intended, %d succeeded, %d arrived: want 40 of 60", l.Intended, l.Succeeded, info.Size())
	}
	if err := s.Load.Check(); err != nil {
		t.Error(err)
	}
	// Each request collects once: those of the warm-up do not count, nor do the first of the
	// others where the machine is busy when it ends.
	if s.GCCycles == nil || *s.GCCycles < 1 || *s.GCCycles >= 60 {
		t.Errorf("%v GC cycles, want those of at most 40 requests", orNone(s.GCCycles))
	}
	if s.CPUPerRequest == nil || *s.CPUPerRequest != s.CPU/40 {
		t.Errorf("%v CPU seconds a request of %v s", value64(s.CPUPerRequest), s.CPU)
	}
	if s.Wall <= 0 {
		t.Errorf("wall %v s", s.Wall)
	}
	if pages := int64(40 * mib / os.Getpagesize()); s.MinorFaults > pages/2 {
		t.Errorf("%d faults: the %d before do not count", s.MinorFaults, pages)
	}
	if s.Load.OverTime != nil {
		t.Error("the load over time is kept, and was not asked for")
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again Sample
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	again.Recompute()
	if err := again.Load.Check(); err != nil || !slices.Equal(again.Load.Latency.Histogram.Counts, s.Load.Latency.Histogram.Counts) ||
		*again.CPUPerRequest != *s.CPUPerRequest {
		t.Errorf("read back: %+v, %v", again.Load, err)
	}
}

// What folio itself uses for the load is not the server's.
func TestGeneratorDoesNotCount(t *testing.T) {
	p := generated(t)
	var held [][]byte
	p.Server.run = func(ctx context.Context, o load.Options) (*load.Result, error) {
		r, err := punctual(ctx, o)
		mem, terr := touch(150, false)
		held = append(held, mem)
		burn(2 * time.Second)
		return r, errors.Join(err, terr)
	}
	s := run(t, p, Setting{})
	if !s.OK() {
		t.Fatal(s.Failure)
	}
	if pages := int64(150 * mib / os.Getpagesize()); s.MinorFaults > pages/2 || s.CPU > 1.5 {
		t.Errorf("%d faults, CPU %v s", s.MinorFaults, s.CPU)
	}
	if s.PeakTreeRSS == nil || *s.PeakTreeRSS > 140*mib {
		t.Errorf("peak %v MiB", mibOf(s.PeakTreeRSS))
	}
}

// The reason why there was no load keeps the words of the server and the system; what to do
// is said with the flags of the command.
func TestLoadFailure(t *testing.T) {
	ready, err := ParseReady("http://127.0.0.1:8080/healthz")
	if err != nil {
		t.Fatal(err)
	}
	r := &running{p: &Program{Server: &Server{Ready: ready}}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{&load.ConnectError{Err: errors.New("no --http here; start the server first, or correct the port"), Advice: load.AnyCertificate},
			"no --http here; start the server first, or correct the port; --load-insecure accepts any certificate"},
		{&load.ConnectError{Err: errors.New("refused"), Advice: load.CorrectPort}, "refused; the server answers at http://127.0.0.1:8080/healthz: correct --target"},
		{&load.ConnectError{Err: errors.New("no answer in time"), Advice: load.LongerTimeout}, "no answer in time; give a longer --load-timeout"},
		{&load.ConnectError{Err: errors.New("no HTTP/2"), Advice: load.LeaveHTTPOut}, "no HTTP/2; leave --load-http 2 out"},
		{&load.ConnectError{Err: errors.New("no route to host")}, "no route to host"},
		{errors.New("its --timeout"), "its --timeout"},
	} {
		if got := r.loadFailure(c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// failing lets every n-th request fail: by its URL, since requests may arrive in another
// order than they were sent.
func failing(n int) func(p *subject) {
	return func(p *subject) {
		url := p.Server.Generator.URLs[0]
		p.Server.Generator.URLs = append(slices.Repeat([]string{url}, n-1), url+"fail")
	}
}

func TestGenerateFails(t *testing.T) {
	testenv.Long(t)
	for _, c := range []struct {
		name    string
		options []string
		change  func(p *subject)
		failure string // "" for none
	}{
		{"some fail", nil, failing(10), ""},
		{"metric of those that fail", nil, func(p *subject) { failing(10)(p); p.Metric = &metric.Spec{Name: metric.P99} },
			"metric p99: it falls among failed requests: 4 of 40 requests failed: answered with a status other than 2xx and 3xx; first: 500 Internal Server Error"},
		{"metric of those that do not", nil, func(p *subject) { failing(10)(p); p.Metric = &metric.Spec{Name: metric.P50} }, ""},
		{"most fail", nil, func(p *subject) {
			failing(1)(p)
			p.Server.Generator.URLs = append(p.Server.Generator.URLs, p.Server.Generator.URLs[0], strings.TrimSuffix(p.Server.Generator.URLs[0], "fail"))
		}, "26 of 40 requests failed: answered with a status other than 2xx and 3xx; first: 500 Internal Server Error"},
		{"all fail", nil, failing(1), "40 of 40 requests failed: answered with a status other than 2xx and 3xx; first: 500 Internal Server Error"},
		{"dies", nil, func(p *subject) { p.Server.Generator.URLs[0] += "die" }, "the server ended under load"},
		{"no such port", nil, func(p *subject) { p.Server.Generator.URLs[0] = "http://127.0.0.1:1/" },
			"cannot connect to 127.0.0.1:1: connection refused; the server answers at READY: correct --target"},
		{"late", nil, func(p *subject) {
			p.Server.run = func(ctx context.Context, o load.Options) (*load.Result, error) {
				r, err := load.Run(ctx, o)
				r.Lateness.P99, r.Lateness.Bound, r.Late = new(0.004), 0.001, true
				return r, err
			}
		}, "the load generator was late: 1 in 100 requests started more than 4.000ms late, where 1.000ms is allowed; lower the rate, or give generator and server CPUs of their own"},
		{"all fail, and it is late", nil, func(p *subject) {
			failing(1)(p)
			p.Server.run = func(ctx context.Context, o load.Options) (*load.Result, error) {
				r, err := load.Run(ctx, o)
				r.Lateness.P99, r.Lateness.Bound, r.Late = new(0.004), 0.001, true
				return r, err
			}
		}, "40 of 40 requests failed: answered with a status other than 2xx and 3xx; first: 500 Internal Server Error"},
		{"takes too long", nil, func(p *subject) {
			p.Server.Generator.Warmup, p.Server.Generator.Duration, p.Timeout = 0, time.Hour, 100*time.Millisecond
		}, "took longer than 100ms"},
		{"too large", []string{"touch=150"}, func(p *subject) { p.Server.Generator.Duration, p.MaxMemory = time.Hour, 120*mib },
			"ended: its memory passed 120MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := generated(t, c.options...)
			p.Server.run = punctual
			if c.change != nil {
				c.change(p)
			}
			s := run(t, p, Setting{})
			if want := strings.ReplaceAll(c.failure, "READY", p.Server.Ready.String()); s.Failure != want {
				t.Errorf("failure %q, want %q", s.Failure, want)
			}
			if strings.HasPrefix(c.name, "late") != s.Late() {
				t.Errorf("late: %v", s.Late())
			}
			if s.OK() && (s.Load.Failed != 4 || s.Load.Failures.Status != 4 || s.Load.Succeeded != 36 || *s.CPUPerRequest != s.CPU/36) {
				t.Errorf("%+v", s.Load.Counts)
			}
		})
	}
	p := generated(t)
	p.Server.Generator.Rate = 0
	s, err := p.Run(t.Context(), Setting{})
	checkNoneLeft(t)
	if s != nil || err == nil || !strings.Contains(err.Error(), "--rate") {
		t.Errorf("sample %v, error %v", s, err)
	}
}

// A signal ends the load: what it found until then is kept, and is not a run that counts.
func TestGenerateIsInterrupted(t *testing.T) {
	signals := make(chan os.Signal, 1)
	file := filepath.Join(t.TempDir(), "arrived")
	p := generated(t, "log="+file)
	p.Server.Generator.Duration = time.Hour
	p.Signals = signals
	p.Server.run = func(ctx context.Context, o load.Options) (*load.Result, error) {
		arrived := func() int64 {
			info, err := os.Stat(file)
			if err != nil {
				return 0
			}
			return info.Size()
		}
		measuring := o.Measuring
		o.Measuring = func() {
			measuring()
			before := arrived()
			go func() {
				testenv.Within(func() bool { return arrived() >= before+20 }) // some have been answered
				signals <- unix.SIGINT
			}()
		}
		return load.Run(ctx, o)
	}
	s := run(t, p, Setting{})
	if s.Failure != "interrupted under load" || !s.Interrupted || s.Load == nil || s.Load.Complete || s.Load.Succeeded == 0 ||
		s.CPUPerRequest != nil {
		t.Errorf("%+v, load %+v", s, s.Load)
	}
	// A context that ends leaves no trial.
	ctx, cancel := context.WithCancel(t.Context())
	p = generated(t)
	p.Server.run = func(loading context.Context, o load.Options) (*load.Result, error) {
		o.Duration = time.Hour
		time.AfterFunc(300*time.Millisecond, cancel)
		return load.Run(loading, o)
	}
	s, err := p.Run(ctx, Setting{})
	checkNoneLeft(t)
	if s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("sample %v, error %v", s, err)
	}
}

func value64(p *float64) float64 {
	v, _ := value(p)
	return v
}

// Each rate that is tried is a trial of its own, of a server that is started anew; what is
// tried has the requests of the load, and its own length.
func TestProgramFindsRate(t *testing.T) {
	p := generated(t)
	p.Metric, p.Profile = &metric.Spec{Name: metric.P999}, testRate
	var tried []float64
	p.Server.run = func(ctx context.Context, o load.Options) (*load.Result, error) {
		tried = append(tried, o.Rate)
		if o.Warmup != load.RateWarmup || o.URLs[0] != p.Server.Generator.URLs[0] {
			t.Errorf("%+v", o)
		}
		rate := o.Rate
		o.Rate, o.Duration, o.Warmup = 50, 100*time.Millisecond, 0
		r, err := punctual(ctx, o)
		if err != nil {
			return nil, err
		}
		r.Latency.P50, r.Latency.P99 = new(0.004), new(0.005)
		if rate > 1000 {
			r.Latency.P99 = new(0.011)
		}
		return r, nil
	}
	told := 0
	found, err := p.FindRate(t.Context(), Setting{}, func(load.RateStep) { told++ })
	checkNoneLeft(t)
	if err != nil || found.Highest <= 900 || found.Highest > 1000 || found.By != load.ByServer || told != len(tried) || len(found.Steps) != len(tried) {
		t.Errorf("%+v, %v, tried %v", found, err, tried)
	}
	if p.Server.Generator.Rate != 100 || p.Server.Generator.Duration != 400*time.Millisecond {
		t.Errorf("the load itself was changed: %+v", p.Server.Generator)
	}
	p = generated(t, "die=4")
	if _, err := p.FindRate(t.Context(), Setting{}, nil); err == nil || !strings.Contains(err.Error(), "--rate auto: at 20 requests/s: the server ended before it answered at tcp:") ||
		!strings.HasSuffix(err.Error(), ": cannot read the configuration") {
		t.Error(err)
	}
}
