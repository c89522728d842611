package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/host"
	"github.com/foliomem/folio/internal/trial"
)

func ptr[T any](v T) *T { return &v }

// busy is a program of 10 s on two processors that collects a fifth of the
// time; what each test changes is what it is about.
func busy() Sheet {
	return Sheet{
		Host:    host.Info{CPUs: 2, PageBytes: 4096, HugePageBytes: ptr[uint64](2 << 20), THPEnabled: ptr("madvise")},
		Command: []string{"./prog", "a b"},
		Wall:    10, User: 15, Sys: 0.3, CPU: 15.3, Faults: 1000,
		RSS: ptr(200.0 * (1 << 20)), Huge: ptr(0.0),
		Cycles: ptr(100.0), GCCPU: ptr(3.06), Pause: ptr(0.05), PauseMax: ptr(0.0012), HeapPeak: ptr(150.0 * (1 << 20)),
	}
}

// collectorless is what is known of a program that prints no trace.
func collectorless() Sheet {
	s := busy()
	s.Cycles, s.GCCPU, s.Pause, s.PauseMax, s.HeapPeak = nil, nil, nil, nil, nil
	return s
}

func TestTime(t *testing.T) {
	for _, tt := range []struct {
		name   string
		sheet  Sheet
		change func(*Sheet)
		want   []string
	}{
		{"all", busy(), nil, []string{
			"The collector took 3.06 s of processor time, 20.0% of all, in 100 collections; it stopped the program for 50.0 ms in all, 1.2 ms at the longest.",
			"The kernel took 300.0 ms, 2.0% of all; part of that were 1000 page faults.",
			"The program's own work, allocation included, took the other 11.94 s, 78.0%.",
			"On average 1.5 of 2 processors were busy.",
		}},
		{"server", busy(), func(s *Sheet) { s.Server = true }, []string{
			"The collector took 3.06 s", "The kernel took", "The program's own work", "On average 1.5 of 2 processors were busy with it.",
		}},
		{"one collection", busy(), func(s *Sheet) { *s.Cycles, *s.GCCPU = 1, 0.000153 }, []string{
			"The collector took 153 µs of processor time, 0.0% of all, in 1 collection; it stopped", "The kernel took", "The program's own work", "On average",
		}},
		{"no pauses known", busy(), func(s *Sheet) { s.Pause, s.PauseMax = nil, nil }, []string{
			"The collector took 3.06 s of processor time, 20.0% of all, in 100 collections.", "The kernel took", "The program's own work", "On average",
		}},
		{"never collected", busy(), func(s *Sheet) { *s.Cycles, *s.GCCPU = 0, 0 }, []string{
			"The collector never ran.", "The kernel took", "The program's own work, allocation included, took the other 15.00 s, 98.0%.", "On average",
		}},
		{"collector unknown", collectorless(), nil, []string{
			"What the collector took is not known: no trace of it was seen.", "The kernel took",
			"The program's own work, allocation and collection included, took the other 15.00 s, 98.0%.", "On average",
		}},
		{"no faults", busy(), func(s *Sheet) { s.Faults = 0 }, []string{
			"The collector took", "The kernel took 300.0 ms, 2.0% of all.", "The program's own work", "On average",
		}},
		// Traces are rounded: collection may seem to take more than there was.
		{"more collection than time", busy(), func(s *Sheet) { *s.GCCPU = 99 }, []string{
			"The collector took 99.00 s of processor time, 100.0% of all", "The kernel took",
			"The program's own work, allocation included, took the other 0 µs, 0.0%.", "On average",
		}},
		{"no wall time", busy(), func(s *Sheet) { s.Wall = 0 }, []string{"The collector took", "The kernel took", "The program's own work"}},
		{"nothing", Sheet{}, nil, []string{"The program used too little processor time to be measured."}},
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
	const collector, tiny, faults = "tune the collector", "collect a small heap less often", "take fewer page faults"
	share := func(s *Sheet, part float64) { *s.GCCPU = part * s.CPU }
	kernel := func(s *Sheet, part float64) { s.Sys = part * s.CPU }
	small := func(s *Sheet) { *s.HeapPeak, *s.Cycles = 4<<20, 1000 }
	for _, tt := range []struct {
		name   string
		sheet  Sheet
		change func(*Sheet)
		want   []string
	}{
		{"nothing", Sheet{}, nil, nil},
		{"memory is no problem", busy(), func(s *Sheet) { share(s, 0.001) }, nil},
		{"collector", busy(), nil, []string{collector}},
		{"collector, just", busy(), func(s *Sheet) { share(s, 0.0201) }, []string{collector}},
		{"collector, just not", busy(), func(s *Sheet) { share(s, 0.0199) }, nil},
		{"collector unknown", collectorless(), nil, nil},
		{"no processor time", busy(), func(s *Sheet) { s.CPU = 0 }, nil},

		{"tiny heap", busy(), func(s *Sheet) { share(s, 0.01); small(s) }, []string{tiny}},
		{"tiny heap, just", busy(), func(s *Sheet) { share(s, 0.01); *s.HeapPeak, *s.Cycles = 16<<20, 500 }, []string{tiny}},
		{"heap not tiny", busy(), func(s *Sheet) { share(s, 0.01); small(s); *s.HeapPeak = 16<<20 + 1 }, nil},
		{"seldom collected", busy(), func(s *Sheet) { share(s, 0.01); small(s); *s.Cycles = 499 }, nil},
		{"few collections", busy(), func(s *Sheet) { share(s, 0.01); small(s); s.Wall, *s.Cycles = 0.1, 19 }, nil},
		{"GOGC was given", busy(), func(s *Sheet) { share(s, 0.01); small(s); s.Setting.GOGC = "50" }, nil},
		{"heap unknown", busy(), func(s *Sheet) { share(s, 0.01); small(s); s.HeapPeak = nil }, nil},
		{"tiny heap and collector", busy(), small, []string{collector, tiny}},

		{"faults", busy(), func(s *Sheet) { share(s, 0); kernel(s, 0.3); s.Faults = 1e6 }, []string{faults}},
		{"faults, just", busy(), func(s *Sheet) { share(s, 0); kernel(s, 0.0501); s.Faults = 5000 }, []string{faults}},
		{"few faults", busy(), func(s *Sheet) { share(s, 0); kernel(s, 0.3); s.Faults = 4999 }, nil},
		{"little kernel time", busy(), func(s *Sheet) { share(s, 0); kernel(s, 0.0499); s.Faults = 1e6 }, nil},
		{"faults, collector unknown", collectorless(), func(s *Sheet) { kernel(s, 0.3); s.Faults = 1e6 }, []string{faults}},

		{"more to gain from faults", busy(), func(s *Sheet) { kernel(s, 0.3); s.Faults = 1e6 }, []string{faults, collector}},
		{"more to gain from the collector", busy(), func(s *Sheet) { kernel(s, 0.1); s.Faults = 1e6 }, []string{collector, faults}},
		{"all three", busy(), func(s *Sheet) { share(s, 0.1); small(s); kernel(s, 0.2); s.Faults = 1e6 }, []string{faults, collector, tiny}},
		{"as much to gain: as listed", busy(), func(s *Sheet) { share(s, 0.25); kernel(s, 0.25); s.Faults = 1e6 }, []string{collector, faults}},
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
	s.Sys, s.Faults = 1.53, 200_000
	got := s.Advise()
	want := []Finding{
		{"tune the collector: at most 20.0% of the processor time can be gained", "3.06 s in 100 collections", "folio tune -- ./prog 'a b'"},
		{"take fewer page faults: at most 10.0% of the processor time can be gained",
			"200000 faults, 20000 a second; 1.53 s in the kernel, not all of it for faults",
			`huge pages: 0 MiB of 200 MiB were on them; a huge page takes one fault where 512 were taken (THP is "madvise" here; Go asks for none by itself: import folio/auto, or folio build)`},
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings %+v\nwant %+v", got, want)
	}

	s = busy()
	*s.HeapPeak, *s.Cycles, *s.GCCPU = 4<<20, 2000, 0.153
	s.Flags = []string{"--ready", "tcp:localhost:80", "--load", "curl x"}
	want = []Finding{{
		"collect a small heap less often: what stopping and starting costs is not in the collector's own figure",
		"200 collections a second of a heap of at most 4 MiB",
		"folio run --gogc=400 --ready tcp:localhost:80 --load 'curl x' -- ./prog 'a b'",
	}}
	if got := s.Advise(); !slices.Equal(got, want) {
		t.Errorf("findings %+v\nwant %+v", got, want)
	}
}

// Huge pages are advised only where they were measured to be missing.
func TestHugePageAdvice(t *testing.T) {
	const huge, reuse = "huge pages: ", "keep the heap from growing"
	for _, tt := range []struct {
		name   string
		change func(*Sheet)
		want   string
	}{
		{"none", func(*Sheet) {}, huge},
		{"few", func(s *Sheet) { *s.Huge = *s.RSS * 0.099 }, huge},
		{"some", func(s *Sheet) { *s.Huge = *s.RSS * 0.1 }, reuse},
		{"no huge pages here", func(s *Sheet) { s.Host.HugePageBytes = nil }, reuse},
		{"not measured", func(s *Sheet) { s.Huge = nil }, reuse},
		{"memory not measured", func(s *Sheet) { s.RSS = nil }, reuse},
		{"small", func(s *Sheet) { *s.RSS = 64 << 20 }, reuse},
		{"policy unknown", func(s *Sheet) { s.Host.THPEnabled = nil }, "huge pages: 0 MiB of 200 MiB were on them; a huge page takes one fault where 512 were taken"},
		{"other page sizes", func(s *Sheet) { s.Host.PageBytes, s.Host.HugePageBytes = 65536, ptr[uint64](512<<20) },
			"huge pages: 0 MiB of 200 MiB were on them; a huge page takes one fault where 8192 were taken"},
	} {
		s := busy()
		*s.GCCPU, s.Sys, s.Faults = 0, 5, 1e6
		tt.change(&s)
		got := s.Advise()
		if len(got) != 1 || !strings.HasPrefix(got[0].Fix, tt.want) {
			t.Errorf("%s: %+v, want %s", tt.name, got, tt.want)
		}
	}
}

func TestNewSheet(t *testing.T) {
	sample := func(i int) *trial.Sample {
		return &trial.Sample{
			Wall: float64(i), User: 2 * float64(i), Sys: 0.5, CPU: 2*float64(i) + 0.5, MinorFaults: int64(100 * i),
			PeakRSS: ptr[uint64](1 << 20), PeakTreeRSS: ptr(uint64(i) << 20), GCCycles: ptr(i), GCCPU: ptr(0.1), GCPause: ptr(0.01), GCPauseMax: ptr(0.001), HeapPeak: ptr[uint64](5),
		}
	}
	bad := sample(100)
	bad.Failure = "exit code 1"
	s := NewSheet(host.Info{CPUs: 4}, trial.Setting{GOGC: "50"}, []string{"x"}, []*trial.Sample{sample(3), bad, sample(1), sample(2)})
	got := fmt.Sprint(s.Wall, s.User, s.Sys, s.CPU, s.Faults, *s.RSS, *s.Cycles, *s.GCCPU, *s.Pause, *s.PauseMax, *s.HeapPeak, s.Huge == nil)
	if want := fmt.Sprint(2.0, 4.0, 0.5, 4.5, 200.0, 2.0*(1<<20), 2.0, 0.1, 0.01, 0.001, 5.0, true); got != want {
		t.Errorf("sheet %s, want %s", got, want)
	}

	// The tree's memory was not seen: the largest process stands for it.
	one := sample(1)
	one.PeakTreeRSS, one.GCCycles, one.GCCPU = nil, nil, nil
	s = NewSheet(host.Info{}, trial.Setting{}, nil, []*trial.Sample{one})
	if s.RSS == nil || *s.RSS != 1<<20 || s.Cycles != nil || s.GCCPU != nil {
		t.Errorf("sheet %+v", s)
	}

	s = NewSheet(host.Info{}, trial.Setting{}, nil, nil)
	if len(s.Time()) != 1 || s.Advise() != nil {
		t.Errorf("of nothing: %q, %+v", s.Time(), s.Advise())
	}
}
