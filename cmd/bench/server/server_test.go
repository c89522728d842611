package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

func TestServicesHaveModules(t *testing.T) {
	found, err := filepath.Glob("*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range services {
		want = append(want, filepath.Join(s.name, "go.mod"))
	}
	slices.Sort(want)
	if slices.Sort(found); !slices.Equal(found, want) {
		t.Errorf("modules %q, services %q", found, want)
	}
}

func TestChoose(t *testing.T) {
	list, err := choose("rpc,api,rpc")
	if err != nil || len(list) != 2 || list[0].name != "rpc" || list[1].name != "api" {
		t.Errorf("%+v, %v", list, err)
	}
	if err := rates(list, "api=12.5,cache=3"); err != nil || list[1].rate != 12.5 || services[0].rate == 12.5 {
		t.Errorf("%+v, %v; of all: %v", list, err, services[0].rate)
	}
	if _, err := choose("api,web"); err == nil || err.Error() != `-only "web": no such service: want some of api, cache, series, rpc` {
		t.Error(err)
	}
	for _, bad := range []string{"api", "api=", "api=0", "api=-1", "api=NaN", "web=3", "api=3,,"} {
		if err := rates(list, bad); err == nil || !strings.Contains(err.Error(), "want a service and requests per second") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := limits(list, "api=1.5GiB,cache=3MiB"); err != nil || list[1].limit != 1536*mib || services[0].limit == 1536*mib {
		t.Errorf("%+v, %v; of all: %v", list, err, services[0].limit)
	}
	for _, bad := range []string{"api", "api=", "api=0", "api=1XB", "web=1GiB"} {
		if err := limits(list, bad); err == nil || !strings.Contains(err.Error(), "want a service and a size") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestGenerator(t *testing.T) {
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &subject{bench: &bench{}, service: services[0], addr: "127.0.0.1:80", body: body}
	s.paths, s.rate = []string{"x", "y", "x"}, 12.5
	o, err := s.generator(times{2 * time.Second, time.Second})
	if err != nil || o.Check() != nil {
		t.Fatal(err, o.Check())
	}
	if got := strings.Join(o.URLs, " "); got != "http://127.0.0.1:80/x http://127.0.0.1:80/y http://127.0.0.1:80/x" ||
		string(o.Body) != "{}" || o.Rate != 12.5 || o.Duration != 2*time.Second || o.Warmup != time.Second {
		t.Errorf("%+v", o)
	}
	for i := range services {
		want := "http://h:1/healthz"
		if services[i].grpc != "" {
			want = "tcp:h:1"
		}
		if got := services[i].ready("h:1"); got != want {
			t.Errorf("%s: %s, want %s", services[i].name, got, want)
		}
	}
}

// All arms are the same but for what they are about: each turns off what it is not.
func TestArms(t *testing.T) {
	var got []string
	for _, a := range arms(armNames, 1000, &trial.Setting{GOGC: "400", THP: trial.THPHeap}) {
		got = append(got, a.Name+": "+a.setting.String())
	}
	want := []string{
		"default: AUTOMEMLIMIT=off FOLIO=off",
		"automemlimit: FOLIO=off",
		"GOGC=off+limit: GOGC=off GOMEMLIMIT=900B AUTOMEMLIMIT=off FOLIO=off",
		"auto: AUTOMEMLIMIT=off",
		"tune: GOGC=400 AUTOMEMLIMIT=off FOLIO=off thp=heap",
		"auto-2P: AUTOMEMLIMIT=off FOLIO=secondp=gc",
		"auto-sweep: AUTOMEMLIMIT=off FOLIO=secondp=sweep",
		"no GC: GOGC=off AUTOMEMLIMIT=off FOLIO=off",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if n := len(arms(armNames, 1000, nil)); n != 7 || strings.Contains(fullFlags["arms"], nameNoGC) {
		t.Errorf("%d arms without an answer", n)
	}
	env := environ([]string{"A=1", "GOGC=50", "FOLIO=log=1", "GOGCX=2", "GODEBUG=x", "GOMEMLIMIT=1"})
	if !slices.Equal(env, []string{"A=1", "GOGCX=2"}) {
		t.Errorf("%q", env)
	}
}

func TestAnswer(t *testing.T) {
	gogc := "400"
	f := &result.File{ElapsedSeconds: 3, Answer: &tune.Answer{State: tune.Conclusive}, Recommendations: []result.Recommendation{
		{Goal: tune.Fastest, Arm: "GOGC=400", Setting: result.Setting{GOGC: &gogc, THP: "heap"}}, {Goal: tune.Cheapest, Arm: "default"}}}
	var got Tuned
	got.answer(f)
	if s := got.setting(); got.Arm != "GOGC=400" || got.State != "conclusive" || got.Seconds != 3 || s.GOGC != "400" || s.THP != trial.THPHeap {
		t.Errorf("%+v, %+v", got, s)
	}
	got = Tuned{}
	got.answer(&result.File{Ended: "budget spent"})
	if got.setting() != nil || got.Error != "it recommends nothing: budget spent" {
		t.Errorf("%+v", got)
	}
	if (*Tuned)(nil).setting() != nil {
		t.Error("a setting of no search")
	}
}

// aLoad has 100 requests, of which 98 took 1 ms, one p99, and one as long as that or failed.
func aLoad(p99 time.Duration, failed int64) *load.Result {
	r := &load.Result{Settings: load.Settings{URLs: []string{"http://h/"}, Timeout: 5}, Complete: true}
	r.Latency.Histogram = load.Histogram{SignificantFigures: 3, Nanoseconds: []int64{1_000_447, int64(p99)}, Counts: []int64{98, 2 - failed}}
	r.Intended, r.Succeeded, r.Failed = 100, 100-failed, failed
	s := p99.Seconds()
	r.Latency.P99 = &s
	return r
}

// aRun took cpu seconds, and cycles ran for so many of its 10 seconds.
func aRun(round int, p99 time.Duration, cpu, collecting float64) *Run {
	rss := uint64(100 * mib)
	s := &trial.Sample{Load: aLoad(p99, 0), Wall: 10, CPU: cpu, PeakRSS: &rss,
		Counts: &trial.Counts{CPUPeriods: new(uint64(50)), ThrottledPeriods: new(uint64(5)), OOMKills: new(uint64(0))}}
	s.Recompute() // what follows from the load
	s.GCCycles, s.GCCounted = new(20), trial.GCComplete
	return &Run{Round: round, Sample: s, Collecting: &collecting}
}

const ms = time.Millisecond

func TestFigures(t *testing.T) {
	killed := aRun(1, 10*ms, 1, 1)
	killed.Sample.Failure, killed.Sample.OOMKills = "killed", new(uint64(1))
	broken := aRun(2, 10*ms, 1, 1)
	broken.Sample.Failure = "exit code 2"
	slow := aRun(3, 10*ms, 1, 1)
	slow.Sample.Load.Latency.P99 = nil
	base := &Arm{Name: nameDefault, Runs: []*Run{aRun(0, 20*ms, 3, 4), aRun(1, 20*ms, 3, 4), aRun(2, 20*ms, 3, 4), aRun(3, 20*ms, 3, 4)}}
	a := &Arm{Name: nameAuto, Runs: []*Run{aRun(0, 10*ms, 1.5, 1), killed, broken, slow}}
	f := newFigures(a, base)
	if f.counted != 2 || f.kills != 1 || f.failed != 1 || f.failure != "exit code 2" || f.merged.Intended != 200 {
		t.Errorf("%+v", f)
	}
	if f.cpu.N != 2 || f.cpu.Hi != 0.015 || f.collecting.Median != 0.1 || f.throttled.Median != 0.1 || f.cycles.Median != 2 || f.rss.Median != 100*mib {
		t.Errorf("%+v", f)
	}
	// Rounds 0 and 3, in which more than 1% failed: as if the timeout had been met.
	if f.p99.N != 2 || f.p99.Lo != 0.5 || f.p99.Hi != 250 || f.perCPU.N != 2 || f.perCPU.Hi != 0.5 {
		t.Errorf("%+v, %+v", f.p99, f.perCPU)
	}
	if f.gc != nil || f.group.N != 0 {
		t.Error("figures that were not measured are known")
	}
	none := newFigures(&Arm{}, base)
	if none.merged != nil || none.p99.N != 0 || !math.IsNaN(none.p99.Median) {
		t.Errorf("%+v", none)
	}
}

// fixture has the same runs for all services: default, and the p99 of arms.
func fixture(rounds int, p99 map[string]time.Duration, collecting map[string]float64) *File {
	f := &File{Schema: schema, Rounds: rounds, Warmup: 1}
	for _, s := range services {
		out := &Service{Name: s.name, Limit: s.limit, Rate: 50}
		for _, name := range []string{nameDefault, nameAuto, nameTune} {
			a := &Arm{Name: name}
			for i := range rounds {
				a.Runs = append(a.Runs, aRun(i, p99[name], 2*p99[name].Seconds(), collecting[name]))
			}
			out.Arms = append(out.Arms, a)
		}
		f.Services = append(f.Services, out)
	}
	return f
}

func goalsOf(f *File) string {
	var b strings.Builder
	var all []measured
	for _, s := range f.Services {
		m := measured{s, make(map[string]figures)}
		for _, a := range s.Arms {
			m.of[a.Name] = newFigures(a, s.Arms[0])
		}
		all = append(all, m)
	}
	goals(table.New(&b, "goal", "met"), all)
	return b.String() + blame(all[0]) + "\n"
}

func TestGoals(t *testing.T) {
	const head = "| goal | met |\n|---|---|\n"
	f := fixture(8, map[string]time.Duration{nameDefault: 20 * ms, nameAuto: 10 * ms, nameTune: 16 * ms},
		map[string]float64{nameDefault: 2, nameAuto: 0.02, nameTune: 1})
	want := head + `| auto: p99 at most 0.7x of the default on 3 of 4 services | yes: 4 of 4 measured |
| auto: CPU per request at most 0.85x of the default on 3 of 4 services | yes: 4 of 4 measured |
| auto: no OOM kill where the default has none | yes: 4 of 4 services measured |
| tune: p99 at most 0.7x of the default on 3 of 4 services | **no**: 0 of 4 measured; above it: api 0.80x, cache 0.80x, series 0.80x, rpc 0.80x |
| tune: CPU per request at most 0.85x of the default on 3 of 4 services | yes: 4 of 4 measured |
| tune: no OOM kill where the default has none | yes: 4 of 4 services measured |
| auto and tune: overlapping intervals of p99 | **no**: api, cache, series, rpc apart |
api: GC cycles run for 20.0% of the time with the default, and 0.2% with auto, whose p99 of 10.00ms is therefore without the GC: at most 50.0% of the default's p99 of 20.00ms is the GC's doing.
`
	if got := goalsOf(f); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}

	f = fixture(2, map[string]time.Duration{nameDefault: 20 * ms, nameAuto: 18 * ms, nameTune: 18 * ms},
		map[string]float64{nameDefault: 2, nameAuto: 0.02, nameTune: 1})
	f.Services = f.Services[:1]
	kill := f.Services[0].Arms[1].Runs[0]
	kill.Sample.Failure, kill.Sample.OOMKills = "killed", new(uint64(1))
	want = head + `| auto: p99 at most 0.7x of the default on 3 of 4 services | not known: 0 of 1 measured; above it: api 0.90x |
| auto: CPU per request at most 0.85x of the default on 3 of 4 services | not known: 0 of 1 measured; above it: api 0.90x |
| auto: no OOM kill where the default has none | **no**: api 1 |
| tune: p99 at most 0.7x of the default on 3 of 4 services | not known: 0 of 1 measured; above it: api 0.90x |
| tune: CPU per request at most 0.85x of the default on 3 of 4 services | not known: 0 of 1 measured; above it: api 0.90x |
| tune: no OOM kill where the default has none | not known: 1 of 4 services measured |
| auto and tune: overlapping intervals of p99 | not known: 0 of 4 services have both intervals |
api: GC cycles run for 20.0% of the time with the default, and 0.2% with auto, whose p99 of 18.00ms is therefore without the GC: at most 10.0% of the default's p99 of 20.00ms is the GC's doing, so no setting of the GC reaches 0.7x.
`
	if got := goalsOf(f); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestBlameUnknown(t *testing.T) {
	same := map[string]time.Duration{nameDefault: 20 * ms, nameAuto: 20 * ms, nameTune: 20 * ms}
	for _, c := range []struct {
		collecting map[string]float64
		want       string
	}{
		{map[string]float64{nameDefault: 2, nameAuto: 0.5, nameTune: 1},
			"api: GC cycles run for 20.0% of the time with the default, and for at least 5.0% in every arm (least: auto): too much to tell what p99 is without the GC.\n"},
		{map[string]float64{nameDefault: 0.01, nameAuto: 0.5, nameTune: 1},
			"api: GC cycles run for 0.1% of the time with the default, the least of all arms: its p99 of 20.00ms is not the GC's doing.\n"},
	} {
		if got := goalsOf(fixture(2, same, c.collecting)); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	f := fixture(1, same, map[string]float64{})
	for _, a := range f.Services[0].Arms {
		a.Runs[0].Collecting = nil
	}
	if got := goalsOf(f); !strings.HasSuffix(got, "api: what the GC does to p99 is not known: cycles or latencies of the default are not.\n") {
		t.Error(got)
	}
}

// The tables come from the file alone, and it keeps all that they need.
func TestReadAgain(t *testing.T) {
	f := fixture(6, map[string]time.Duration{nameDefault: 20 * ms, nameAuto: 10 * ms, nameTune: 16 * ms},
		map[string]float64{nameDefault: 2, nameAuto: 0.02, nameTune: 1})
	f.Services[0].Arms[1].Late = 2
	f.Services[0].Tune = &Tuned{Arm: "GOGC=400", State: "conclusive", Seconds: 60, Setting: &result.Setting{THP: "system"}}
	f.Services[3] = &Service{Name: "rpc", Stopped: "it cannot be called", Arms: []*Arm{}}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "f.json")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	var first, again strings.Builder
	if err := write(&first, f); err != nil {
		t.Fatal(err)
	}
	if err := command([]string{"-read", name}, &again, os.Stderr); err != nil {
		t.Fatal(err)
	}
	if first.String() != again.String() {
		t.Errorf("%s\nbut from the file\n%s", &first, &again)
	}
	const row = "| api, 512MiB, 50/s | auto | 1.000ms [1.000ms, 1.000ms] | 10.00ms [10.00ms, 10.00ms] | 10.00ms [10.00ms, 10.00ms] | 0.50x [0.50, 0.50] |" +
		" 200.0µs | 0.50x [0.50, 0.50] | 100.0MiB | - | 10.0% | 0 of 6 | 2, 0 | 0 of 600 | 2.0 | - |\n"
	for _, want := range []string{row, "\nrpc: not measured: it cannot be called.\n", "\napi: folio tune recommends GOGC=400 (conclusive, in 1m).\n"} {
		if !strings.Contains(first.String(), want) {
			t.Errorf("no %q in\n%s", want, &first)
		}
	}

	// One file for each service is as good.
	var list []string
	for _, s := range f.Services {
		one := *f
		one.Services = []*Service{s}
		data, err := json.Marshal(one)
		list = append(list, filepath.Join(t.TempDir(), s.Name))
		if err == nil {
			err = os.WriteFile(list[len(list)-1], data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	again.Reset()
	if err := command([]string{"-read", strings.Join(list, ",")}, &again, os.Stderr); err != nil || first.String() != again.String() {
		t.Errorf("%v, %s\nbut from four files\n%s", err, &first, &again)
	}
	// Nor does it matter that rounds of one are in two, measured with another port.
	part := func(name string, change func(*Service)) string {
		c, err := readFile("-read", list[0])
		if err != nil {
			t.Fatal(err)
		}
		change(c.Services[0])
		data, err := json.Marshal(c)
		path := filepath.Join(t.TempDir(), name)
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	const cut = 3
	before := part("before", func(s *Service) {
		for _, a := range s.Arms {
			a.Runs = slices.DeleteFunc(a.Runs, func(r *Run) bool { return r.Round >= cut })
		}
	})
	after := part("after", func(s *Service) {
		for _, a := range s.Arms {
			a.Late = 0
			a.Runs = slices.DeleteFunc(a.Runs, func(r *Run) bool { return r.Round < cut })
			for _, r := range a.Runs {
				r.Round -= cut
				if r.Sample.Load != nil {
					r.Sample.Load.Settings.URLs = []string{"http://127.0.0.1:2/"}
				}
			}
		}
	})
	again.Reset()
	if err := command([]string{"-read", strings.Join(append([]string{before, after}, list[1:]...), ",")}, &again, os.Stderr); err != nil || first.String() != again.String() {
		t.Errorf("%v, %s\nbut with the rounds of one in two files\n%s", err, &first, &again)
	}
	other := part("other", func(s *Service) { s.Rate++ })
	if _, err := readFiles("-read", list[0]+","+other); err == nil || !strings.HasSuffix(err.Error(), "api: a file before has it at another rate or limit") {
		t.Error(err)
	}
	other = part("other", func(s *Service) { s.Arms[1].Setting.GOGC = new("7") })
	if _, err := readFiles("-read", list[0]+","+other); err == nil || !strings.HasSuffix(err.Error(), "a file before has other settings for the arm "+f.Services[0].Arms[1].Name) {
		t.Error(err)
	}

	bad := func(change func(*File), want string) {
		t.Helper()
		var c File
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		change(&c)
		data, err := json.Marshal(c)
		if err == nil {
			err = os.WriteFile(name, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readFiles("-read", list[0]+","+name); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	bad(func(f *File) { f.Services[0].Duration = 3 }, "api: loads of 3 s after 0 s: those of a file before have 0 s after 1 s")
	bad(func(f *File) { f.Schema = "x" }, `schema "x": want "folio-bench-server/1"`)
	bad(func(f *File) { f.Services[0].Arms[0].Runs[0].Sample = nil }, "api, default: a run has no sample")
}

// TestAfter: rounds that are added to a file follow those that it has, as often as it is
// saved, and what was measured stays as it is.
func TestAfter(t *testing.T) {
	p99 := map[string]time.Duration{nameDefault: 20 * ms, nameAuto: 10 * ms}
	f := fixture(2, p99, map[string]float64{})
	stopped := fixture(3, p99, map[string]float64{})
	stopped.Services[0].Stopped = "by a signal"
	before, err := json.Marshal(stopped)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		all, err := f.after(before)
		if err != nil {
			t.Fatal(err)
		}
		var rounds []int
		for _, r := range all.Services[0].Arms[0].Runs {
			rounds = append(rounds, r.Round)
		}
		if all.Services[0].Stopped != "" {
			t.Errorf("stopped %s", all.Services[0].Stopped)
		}
		if !slices.Equal(rounds, []int{0, 1, 2, 3, 4}) || all.Services[0].rounds() != 5 || f.Services[0].rounds() != 2 {
			t.Errorf("rounds %v; %d were measured", rounds, f.Services[0].rounds())
		}
	}
	f.Services[0].Rate++
	if _, err := f.after(before); err == nil || !strings.HasSuffix(err.Error(), "at another rate or limit") {
		t.Error(err)
	}
}

// TestOverlaps: the counts of runs that were read from a file are summed up.
func TestOverlaps(t *testing.T) {
	run := func(slow int) *trial.Sample {
		return &trial.Sample{Delays: &trial.Delays{Counts: delay.Counts{Slow: 10, Some: 100, Episodes: 3, Causes: []delay.Overlap{
			{Cause: delay.Pause}, {Cause: delay.Cycle, Slow: slow, Some: 5, Chance: 1}}}}}
	}
	want := "of 20 slow requests, in 6 groups, 60.0% overlap a GC cycle (5.0% of all requests do; 10.0% would by chance)."
	if got := overlaps([]*trial.Sample{run(7), {}, run(5)}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := overlaps([]*trial.Sample{{}}); got != "" {
		t.Errorf("%q of nothing", got)
	}
}

// TestTakeFrom: a rate and an answer that were found before are taken, those of another
// rate or limit are not.
func TestTakeFrom(t *testing.T) {
	before := &File{Services: []*Service{{Name: "cache", Rate: 5}, {Name: "api", Limit: 9, Rate: 40, RateText: "found", Tune: &Tuned{Arm: "GOGC=400"}}}}
	for _, c := range []struct {
		from  *File
		given float64
		limit uint64
		want  float64
		tuned bool
	}{{nil, 0, 9, 0, false}, {before, 0, 9, 40, true}, {before, 40, 9, 40, true}, {before, 30, 9, 30, false}, {before, 0, 8, 0, false},
		{&File{}, 0, 9, 0, false}} {
		s := &subject{bench: &bench{}, service: service{name: "api", rate: c.given, limit: c.limit}, out: &Service{}}
		s.takeFrom(c.from)
		if s.rate != c.want || (s.out.Tune != nil) != c.tuned || (s.out.RateText == "found") != c.tuned {
			t.Errorf("%+v: %v, %+v", c, s.rate, s.out)
		}
	}
}

func TestRoundsOf(t *testing.T) {
	f := fixture(3, map[string]time.Duration{}, map[string]float64{})
	all := []measured{{Service: f.Services[0]}, {Service: f.Services[1]}}
	if got := roundsOf(all); got != "3 rounds" {
		t.Error(got)
	}
	for _, a := range all[1].Arms {
		a.Runs = a.Runs[:2]
	}
	if got := roundsOf(all); got != "2 to 3 rounds" {
		t.Error(got)
	}
}

func TestMistakes(t *testing.T) {
	for want, args := range map[string][]string{
		`unexpected argument "x"`:       {"x"},
		"-rounds -1: must be 0 or more": {"-rounds", "-1"},
		"-within -1s: must be 0 or":     {"-within", "-1s"},
		"-with: open nothing: no such":  {"-with", "nothing"},
		"-only \"x\": no such service":  {"-only", "x"},
		"-arms \"x\": no such arm":      {"-arms", "default,x"},
		"-arms auto,default: default":   {"-arms", "auto,default"},
		"-rate \"x\": want a service":   {"-rate", "x"},
		"-read: open nothing: no such":  {"-read", "nothing"},
		"-add: open nothing: no such":   {"-add", "-json", "nothing"},
		"-json .: is a directory: name": {"-json", "."},
	} {
		if err := command(args, os.Stdout, os.Stderr); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}
