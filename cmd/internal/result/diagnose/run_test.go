package diagnose

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// busy is a program of 10 s on two processors that collects a fifth of the
// time; what each test changes is what it is about.
func busy() RunFacts {
	return RunFacts{
		Host:      host.Info{CPUs: 2, PageBytes: 4096, HugePageBytes: new(uint64(2 << 20)), THPEnabled: new("madvise")},
		Command:   []string{"./prog", "a b"},
		Processes: 1, Span: 10, User: 15, Sys: 0.3, CPU: 15.3, Faults: 1000,
		RSS: new(200.0 * (1 << 20)), Huge: new(0.0),
		Cycles: new(100.0), RuntimeCPU: new(3.06), Pause: new(0.05), PauseMax: new(0.0012), HeapPeak: new(150.0 * (1 << 20)),
	}
}

// collectorless is what is known of a program that prints no trace.
func collectorless() RunFacts {
	s := busy()
	s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax, s.HeapPeak = nil, nil, nil, nil, nil
	return s
}

func TestTime(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sheet  RunFacts
		change func(*RunFacts)
		want   []string
	}{
		{"all", busy(), nil, []string{
			"GC: 100 cycles; stop-the-world 50.00ms total, 1.200ms max.",
			"GC CPU by the runtime: 3.060s, an estimate of 20.0% of CPU time.",
			"User time 15.00s, system time 300.0ms (2.0%); 1,000 page faults.",
			"1.5 of 2 CPUs busy on average.",
		}},
		{"server", busy(), func(s *RunFacts) { s.Server = true },
			[]string{"GC: 100 cycles", "GC CPU", "User time", "1.5 of 2 CPUs busy on average, under load."}},
		{"outlived", busy(), func(s *RunFacts) { s.Outlived = true },
			[]string{"GC: 100 cycles", "GC CPU", "User time", "1.5 of 2 CPUs busy on average, in the 10.00s until the last process that it left behind had ended."}},
		{"one GC cycle", busy(), func(s *RunFacts) { *s.Cycles = 1 }, []string{"GC: 1 cycle; stop-the-world", "GC CPU", "User time", "1.5 of"}},
		{"no pauses known", busy(), func(s *RunFacts) { s.Pause, s.PauseMax = nil, nil },
			[]string{"GC: 100 cycles.", "GC CPU", "User time", "1.5 of"}},
		{"never collected", busy(), func(s *RunFacts) { *s.Cycles, *s.RuntimeCPU = 0, 0 }, []string{"GC: 0 cycles.", "User time", "1.5 of"}},
		{"collector unknown", collectorless(), nil, []string{"GC: unknown.", "User time", "1.5 of"}},
		{"no faults", busy(), func(s *RunFacts) { s.Faults = 0 },
			[]string{"GC: 100", "GC CPU", "User time 15.00s, system time 300.0ms (2.0%).", "1.5 of"}},
		{"no wall time", busy(), func(s *RunFacts) { s.Span = 0 }, []string{"GC: 100", "GC CPU", "User time"}},
		{"no load", RunFacts{NoLoad: true}, nil, nil},
		{"nothing", RunFacts{}, nil, nil},
	} {
		if tt.change != nil {
			tt.change(&tt.sheet)
		}
		got := tt.sheet.Time()
		ok := len(got) == len(tt.want)
		for i := range got {
			ok = ok && strings.HasPrefix(got[i], tt.want[i])
		}
		if !ok {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}

// The thresholds, from both sides, and the order by what can be gained.
func TestAdvise(t *testing.T) {
	const collector, tiny, faults = "Tune the GC", "Collect a small heap less often", "Fewer page faults"
	share := func(s *RunFacts, part float64) { *s.RuntimeCPU = part * s.CPU }
	kernel := func(s *RunFacts, part float64) { s.Sys = part * s.CPU }
	small := func(s *RunFacts) { *s.HeapPeak, *s.Cycles = 4<<20, 1000 }
	for _, tt := range []struct {
		name   string
		sheet  RunFacts
		change func(*RunFacts)
		want   []string
	}{
		{"nothing", RunFacts{}, nil, nil},
		{"memory is not a problem", busy(), func(s *RunFacts) { share(s, 0.001) }, nil},
		{"collector", busy(), nil, []string{collector}},
		{"collector, just", busy(), func(s *RunFacts) { share(s, 0.0201) }, []string{collector}},
		{"collector, just not", busy(), func(s *RunFacts) { share(s, 0.0199) }, nil},
		{"collector unknown", collectorless(), nil, nil},
		{"no CPU time", busy(), func(s *RunFacts) { s.CPU = 0 }, nil},

		{"tiny heap", busy(), func(s *RunFacts) { share(s, 0.01); small(s) }, []string{tiny}},
		{"tiny heap, just", busy(), func(s *RunFacts) { share(s, 0.01); *s.HeapPeak, *s.Cycles = 16<<20, 500 }, []string{tiny}},
		{"heap not tiny", busy(), func(s *RunFacts) { share(s, 0.01); small(s); *s.HeapPeak = 16<<20 + 1 }, nil},
		{"seldom collected", busy(), func(s *RunFacts) { share(s, 0.01); small(s); *s.Cycles = 499 }, nil},
		{"few collections", busy(), func(s *RunFacts) { share(s, 0.01); small(s); s.Span, *s.Cycles = 0.1, 19 }, nil},
		{"GOGC was given", busy(), func(s *RunFacts) { share(s, 0.01); small(s); s.Setting.GOGC = "50" }, nil},
		{"heap seen in part", busy(), func(s *RunFacts) { share(s, 0.01); small(s); s.AtLeast = true }, nil},
		{"heap unknown", busy(), func(s *RunFacts) { share(s, 0.01); small(s); s.HeapPeak = nil }, nil},
		{"tiny heap and collector", busy(), small, []string{collector, tiny}},

		{"faults", busy(), func(s *RunFacts) { share(s, 0); kernel(s, 0.3); s.Faults = 1e6 }, []string{faults}},
		{"faults, just", busy(), func(s *RunFacts) { share(s, 0); kernel(s, 0.0501); s.Faults = 5000 }, []string{faults}},
		{"few faults", busy(), func(s *RunFacts) { share(s, 0); kernel(s, 0.3); s.Faults = 4999 }, nil},
		{"little kernel time", busy(), func(s *RunFacts) { share(s, 0); kernel(s, 0.0499); s.Faults = 1e6 }, nil},
		{"faults, collector unknown", collectorless(), func(s *RunFacts) { kernel(s, 0.3); s.Faults = 1e6 }, []string{faults}},

		{"more to gain from faults", busy(), func(s *RunFacts) { kernel(s, 0.3); s.Faults = 1e6 }, []string{faults, collector}},
		{"more to gain from the GC", busy(), func(s *RunFacts) { kernel(s, 0.1); s.Faults = 1e6 }, []string{collector, faults}},
		{"all three", busy(), func(s *RunFacts) { share(s, 0.1); small(s); kernel(s, 0.2); s.Faults = 1e6 }, []string{faults, collector, tiny}},
		{"as much to gain: as listed", busy(), func(s *RunFacts) { share(s, 0.25); kernel(s, 0.25); s.Faults = 1e6 },
			[]string{collector, faults}},
	} {
		if tt.change != nil {
			tt.change(&tt.sheet)
		}
		var got []string
		for _, f := range tt.sheet.Advise() {
			what, _, _ := strings.Cut(f.What, ":")
			got = append(got, what)
			if f.Evidence == "" || f.Fix == "" {
				t.Errorf("%s: no evidence or no fix: %+v", tt.name, f)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: advice %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFindings(t *testing.T) {
	s := busy()
	s.Go, s.Sys, s.Faults = true, 1.53, 60_000
	got := s.Advise()
	want := []NextStep{
		{"gc", *s.RuntimeCPU / s.CPU, "Tune the GC: its share was not measured",
			"GC CPU by the runtime 3.060s, in 100 cycles", "folio tune -- ./prog 'a b'", "https://go.dev/doc/gc-guide"},
		{"page-faults", s.Sys / s.CPU, "Fewer page faults: up to 10.0% less CPU time",
			"60,000 faults, 6,000/s; system time 10.0%, not all of it for faults; 234.4MiB faulted in, peak RSS 200.0MiB: first touches",
			"folio run --thp=heap -- ./prog 'a b'   # the heap then asks for huge pages: one fault per 2MiB instead of 512", docGuideTHP},
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings %+v\nwant %+v", got, want)
	}

	s = busy()
	*s.HeapPeak, *s.Cycles, *s.RuntimeCPU = 4<<20, 2000, 0.153
	s.Flags, s.Server = []string{"--ready", "tcp:localhost:80", "--load", "curl x"}, true
	want = []NextStep{{
		"tiny-heap", 0.153 / s.CPU, "Collect a small heap less often: each GC cycle stops and starts all threads, which no GC figure counts",
		"200 GCs/s, heap at most 4.000MiB",
		"folio run --gogc=400 --ready tcp:localhost:80 --load 'curl x' -- ./prog 'a b'", docTinyHeap,
	}}
	if got := s.Advise(); !slices.Equal(got, want) {
		t.Errorf("findings %+v\nwant %+v", got, want)
	}
}

// A larger GOGC takes more first touches, not fewer: what helps goes by the faults
// against the peak RSS. It is never a larger GOGC.
func TestFaultAdvice(t *testing.T) {
	const pages = 200 << 20 / 4096 // of the peak RSS
	const huge, fixed, touch, reuse = "folio run --thp=heap", "folio tune --max-rss=400MiB --metric=cpu -- ./prog 'a b'", "touch less memory", "reuse memory"
	largest := func(s *RunFacts, part float64) {
		s.Profile = &profile.Result{Faults: 100_000, LargestFaults: uint64(part * 100_000)}
	}
	untraced := func() error { return fmt.Errorf("ptrace: operation not permitted; %w", trial.ErrUntraced) }
	for _, tt := range []struct {
		name          string
		change        func(*RunFacts)
		evidence, fix string
	}{
		{"as many as the peak", func(s *RunFacts) { s.Faults = pages }, "first touches", huge},
		{"just", func(s *RunFacts) { s.Faults = 1.2 * pages }, ": first touches", huge},
		{"somewhat more", func(s *RunFacts) { s.Faults = 1.21 * pages }, "mostly first touches", huge},
		{"twice", func(s *RunFacts) { s.Faults = 2 * pages }, "mostly first touches", huge},
		{"more than twice", func(s *RunFacts) { s.Faults = 2.01 * pages }, "returned to the OS and faulted in again", fixed},
		{"more than twice, of a small machine", func(s *RunFacts) { s.Faults, s.Host.MemoryBytes = 3*pages, new(uint64(700<<20)) },
			"returned to the OS", "folio tune --metric=cpu -- ./prog"},
		{"more than twice, with a metric", func(s *RunFacts) {
			s.Faults, s.Flags = 3*pages, []string{"--metric",
				"wall"}
		}, "returned to the OS", "folio tune --max-rss=400MiB --metric wall -- ./prog"},
		{"more than twice, not Go", func(s *RunFacts) { s.Faults, s.Go = 3*pages, false }, "returned to the OS", "keep freed memory"},
		{"children", func(s *RunFacts) { s.Faults, s.Processes = 9*pages, 7; largest(s, 0.79) },
			"; of 7 processes the largest took 79.0%: each touches memory of its own", "start fewer processes"},
		{"a shell and its program", func(s *RunFacts) { s.Faults, s.Processes, s.Wrapped = pages, 2, true; largest(s, 0.8) },
			": first touches", "put folio exec -- before the Go program"},
		{"one that starts others", func(s *RunFacts) { s.Faults, s.Processes = 3*pages, 5; largest(s, 0.96) }, "returned to the OS", fixed},
		{"children, not known whose", func(s *RunFacts) { s.Faults, s.Processes = 9*pages, 7 }, "", reuse},
		{"few on huge pages", func(s *RunFacts) { s.Faults, *s.Huge = pages, *s.RSS*0.099 }, "first touches", huge},
		{"some on huge pages", func(s *RunFacts) { s.Faults, *s.Huge = 3*pages, *s.RSS*0.1 }, "on huge pages", reuse},
		{"no huge pages here", func(s *RunFacts) { s.Faults, s.Host.HugePageBytes = pages, nil }, "first touches", touch},
		{"huge pages not measured", func(s *RunFacts) { s.Faults, s.Huge = pages, nil }, "first touches", huge},
		{"memory not measured", func(s *RunFacts) { s.Faults, s.RSS = pages, nil }, "", reuse},
		{"small", func(s *RunFacts) { *s.RSS, s.Faults = 63<<20, 16000 }, "first touches", touch},
		{"policy unknown", func(s *RunFacts) { s.Faults, s.Host.THPEnabled = pages, nil }, "first touches", touch},
		{"policy always", func(s *RunFacts) { s.Faults, s.Host.THPEnabled = pages, new("always") }, "first touches", touch},
		{"policy never", func(s *RunFacts) { s.Faults, s.Host.THPEnabled = pages, new("never") }, "first touches",
			"as root, echo madvise > /sys"},
		{"not Go", func(s *RunFacts) { s.Faults, s.Go = pages, false }, "first touches",
			"folio run --env GLIBC_TUNABLES=glibc.malloc.hugetlb=1 -- ./prog 'a b'"},
		{"built by folio, without", func(s *RunFacts) {
			s.Faults, s.Flags, s.Command = pages, []string{"--env", "A=b", "--build", "./x"}, nil
		}, "first touches", "folio tune --env A=b --build ./x"},
		{"other page sizes", func(s *RunFacts) {
			s.Host.PageBytes, s.Host.HugePageBytes, s.Faults = 65536, new(uint64(512<<20)), pages/16
			s.Sys = 10
		}, "first touches", "folio run --thp=heap -- ./prog 'a b'   # the heap then asks for huge pages: one fault per 512MiB instead of 8192"},
		{"may be traced", func(s *RunFacts) { s.Faults, s.MayHeap = pages, func() error { return nil } }, "first touches", huge},
		{"may not be traced", func(s *RunFacts) { s.Faults, s.MayHeap = pages, untraced }, "first touches", "folio patch ./prog -o COPY   # run the copy"},
		{"a shell that may not be traced", func(s *RunFacts) { s.Faults, s.MayHeap, s.Wrapped = pages, untraced, true }, "first touches", "folio patch PROGRAM -o COPY   # run the copy"},
		{"cannot be patched", func(s *RunFacts) { s.Faults, s.MayHeap = pages, func() error { return errors.New("Go 1.16") } }, "first touches", touch},
		{"processes not counted", func(s *RunFacts) { s.Faults, s.Processes = 9*pages, 0 }, "", reuse},
		{"a server under load", func(s *RunFacts) { s.Faults, s.Server = pages, true }, "peak RSS 200.0MiB", huge},
		{"a server that faults again", func(s *RunFacts) { s.Faults, s.Server = 3*pages, true }, "faulted in again", fixed},
		{"a process that ran already", func(s *RunFacts) { s.Faults, s.PID = 9*pages, 42 }, "", reuse},
	} {
		s := busy()
		s.Go, s.Sys, *s.RuntimeCPU = true, 5, 0
		tt.change(&s)
		s.Faults = max(s.Faults, manyFaults)
		got := s.Advise()
		if tt.name == "other page sizes" { // fewer pages are as much memory
			s.Faults = pages / 16
			why, fix := s.faultFix()
			got = []NextStep{{Evidence: why, Fix: fix}}
		}
		if len(got) != 1 || !strings.HasPrefix(got[0].Fix, tt.fix) || !strings.Contains(got[0].Evidence, tt.evidence) ||
			strings.Contains(got[0].Fix, "GOGC") {
			t.Errorf("%s: %+v, want %s, %s", tt.name, got, tt.evidence, tt.fix)
		}
	}
}

// A server does not end: what is advised puts it under load.
func TestServerAdvice(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*RunFacts)
		want   string
	}{
		{"ended by itself", func(s *RunFacts) { s.Listening = []string{"127.0.0.1:80"} }, "folio tune -- ./prog 'a b'"},
		{"stopped, listened nowhere", func(s *RunFacts) { s.Stopped = true }, "folio tune -- ./prog 'a b'"},
		{"stopped server", func(s *RunFacts) { s.Stopped, s.Listening = true, []string{"127.0.0.1:8080", "[::1]:9"} },
			"folio tune --ready tcp:127.0.0.1:8080 --rate auto --target http://127.0.0.1:8080/ -- ./prog 'a b'   # --target: what its clients request; if that is not HTTP, --load 'LOAD_COMMAND' in place of --rate"},
		{"on all addresses", func(s *RunFacts) { s.Stopped, s.Listening = true, []string{"[::]:8080"} },
			"folio tune --ready tcp:localhost:8080 --rate auto --target http://localhost:8080/ -- ./prog 'a b'   #"},
		{"under load already", func(s *RunFacts) {
			s.Stopped, s.Server, s.Listening, s.Flags = true, true, []string{"[::]:8080"}, []string{"--ready", "tcp:x:1", "--load", "y"}
		}, "folio tune --ready tcp:x:1 --load y -- ./prog 'a b'"},
		{"attached", func(s *RunFacts) { s.PID, s.Listening = 42, []string{"0.0.0.0:80"} },
			"folio tune --ready tcp:localhost:80 --rate auto --target http://localhost:80/ -- ./prog 'a b'   # --target: what its clients request; if that is not HTTP, --load 'LOAD_COMMAND' in place of --rate; stop process 42 first, and run this in its directory and environment"},
		{"attached, address unknown", func(s *RunFacts) { s.PID = 42 },
			"folio tune --ready tcp:HOST:PORT --rate auto --target http://HOST:PORT/ -- ./prog 'a b'   # --target"},
		{"failed", func(s *RunFacts) { s.ExitCode = 2 }, "folio tune --ignore-exit -- ./prog 'a b'"},
		{"failed, and that is known", func(s *RunFacts) { s.ExitCode, s.Flags = 2, []string{"--ignore-exit"} },
			"folio tune --ignore-exit -- ./prog 'a b'"},
	} {
		s := busy()
		tt.change(&s)
		got := s.Advise()
		if len(got) != 1 || !strings.HasPrefix(got[0].Fix, tt.want) || !strings.Contains(tt.want, "#") && got[0].Fix != tt.want {
			t.Errorf("%s: %+v, want %s", tt.name, got, tt.want)
		}
	}
}

func TestNewRunFacts(t *testing.T) {
	sample := func(i int) *trial.Sample {
		return &trial.Sample{
			Wall: float64(i), User: 2 * float64(i), Sys: 0.5, CPU: 2*float64(i) + 0.5, MinorFaults: int64(100 * i),
			PeakRSS: new(uint64(1 << 20)), PeakTreeRSS: new(uint64(i) << 20), GCCycles: new(i),
			GCCounted: trial.GCComplete, GCRuntimeCPU: new(0.1), ExitCode: new(0), Processes: i, GCPause: new(0.01),
			GCPauseMax: new(0.001), HeapPeak: new(uint64(5)),
		}
	}
	bad := sample(100)
	bad.Failure = "exit code 1"
	s := NewRunFacts(host.Info{CPUs: 4}, trial.Setting{GOGC: "50"}, []string{"x"}, []*trial.Sample{sample(3), bad, sample(1), sample(2)})
	got := fmt.Sprint(s.Span, s.User, s.Sys, s.CPU, s.Faults, *s.RSS, *s.Cycles, *s.RuntimeCPU, *s.Pause, *s.PauseMax,
		*s.HeapPeak, s.Huge == nil)
	if want := fmt.Sprint(2.0, 4.0, 0.5, 4.5, 200.0, 2.0*(1<<20), 2.0, 0.1, 0.01, 0.001, 5.0, true); got != want {
		t.Errorf("sheet %s, want %s", got, want)
	}

	// The tree's memory was not seen: the largest process stands for it.
	one := sample(1)
	one.PeakTreeRSS, one.GCCycles, one.GCRuntimeCPU = nil, nil, nil
	s = NewRunFacts(host.Info{}, trial.Setting{}, nil, []*trial.Sample{one})
	if s.RSS == nil || *s.RSS != 1<<20 || s.Cycles != nil || s.RuntimeCPU != nil || s.AtLeast {
		t.Errorf("sheet %+v", s)
	}

	// Where some run's trace was not seen, the cycles are a lower bound, and none is
	// not zero.
	for cycles, want := range map[int]string{0: "unknown", 3: "at least 3 cycles"} {
		part, none := sample(cycles), sample(0)
		part.GCCycles, part.GCCounted = &cycles, trial.GCPartial
		none.GCCycles, none.GCCounted = nil, trial.GCPartial
		s = NewRunFacts(host.Info{}, trial.Setting{}, nil, []*trial.Sample{part, none})
		if text := strings.Join(s.Time(), " "); !strings.Contains(text, want) {
			t.Errorf("%d cycles seen in part: %q", cycles, text)
		}
		if !s.Go {
			t.Errorf("%d cycles seen in part: it is not said to be a Go program", cycles)
		}
	}

	failed := sample(1)
	failed.ExitCode, failed.Interrupted, failed.Listening = new(2), true, []string{"x"}
	s = NewRunFacts(host.Info{}, trial.Setting{}, nil, []*trial.Sample{sample(3), failed})
	if s.ExitCode != 2 || !s.Stopped || len(s.Listening) != 1 || s.Processes != 3 {
		t.Errorf("sheet %+v", s)
	}

	s = NewRunFacts(host.Info{}, trial.Setting{}, nil, nil)
	if s.Time() != nil || s.Advise() != nil || s.Unknown() == "" {
		t.Errorf("of nothing: %q, %+v", s.Time(), s.Advise())
	}
}

// A command to paste runs the program as it was run, but for what it changes; folio tune
// searches GOGC, GOMEMLIMIT and huge pages itself.
func TestLineKeepsTheSetting(t *testing.T) {
	set := trial.Setting{GOGC: "off", MemLimit: 30 << 20, GOMAXPROCS: 1, THP: trial.THPOff, Env: []string{"A=b c", "GOMEMLIMIT=1GiB"}}
	for _, c := range []struct {
		set     trial.Setting
		flags   []string
		command []string
		want    string
	}{
		{set, nil, []string{"run", "--gogc=400"}, "folio run --gogc=400 --env 'A=b c' --env GOMEMLIMIT=1GiB --memlimit=30MiB --gomaxprocs=1 --thp=off -- ./prog 'a b'"},
		{set, nil, []string{"run", "--thp=heap"}, "folio run --thp=heap --env 'A=b c' --env GOMEMLIMIT=1GiB --gogc=off --memlimit=30MiB --gomaxprocs=1 -- ./prog 'a b'"},
		{set, nil, []string{"run", "--memlimit=9MiB"}, "folio run --memlimit=9MiB --env 'A=b c' --gogc=off --gomaxprocs=1 --thp=off -- ./prog 'a b'"},
		{set, nil, []string{"tune"}, "folio tune --env 'A=b c' --env GOMAXPROCS=1 -- ./prog 'a b'"},
		{trial.Setting{THP: trial.THPHeap}, []string{"--build", "./x"}, []string{"run", "--gogc=400"}, "folio run --gogc=400 --build ./x -- ./prog 'a b'"},
		{trial.Setting{}, []string{"--build", "./x"}, []string{"run", "--gogc=400"}, "folio run --gogc=400 --thp=system --build ./x -- ./prog 'a b'"},
		{trial.Setting{}, nil, []string{"tune"}, "folio tune -- ./prog 'a b'"},
	} {
		s := busy()
		s.Setting, s.Flags = c.set, c.flags
		if got := s.line(c.command...); got != c.want {
			t.Errorf("%v:\n%s, want\n%s", c.command, got, c.want)
		}
	}
	s := busy()
	*s.HeapPeak, *s.Cycles, s.Setting.Env = 4<<20, 1000, []string{"GOGC=50"}
	if _, _, ok := adviseTinyHeap(&s); ok {
		t.Error("another GOGC is advised where one was set in the environment")
	}
}
