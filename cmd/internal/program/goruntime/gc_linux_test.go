package goruntime

import (
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// said makes of what the program says what is compared with what was read.
func said(m testenv.Metrics) (g GC) {
	const cpu = "/cpu/classes/gc/"
	base := m.Sum("/gc/heap/live", "/gc/scan/stack", "/gc/scan/globals")
	g = GC{Pace: Pace{Base: base}, Cycles: uint32(m["NumGC"]), Forced: uint32(m["NumForcedGC"]), PauseTotal: time.Duration(m["PauseTotalNs"]), Live: m["/gc/heap/live"],
		Goal: m["NextGC"], HeapInUse: m["HeapInuse"], TotalAlloc: m["TotalAlloc"], Free: m["HeapIdle"] - m["HeapReleased"], Released: m["HeapReleased"], Held: m["Sys"] - m["HeapReleased"],
		CPU: GCCPU{Assist: time.Duration(m[cpu+"mark/assist"]), Dedicated: time.Duration(m[cpu+"mark/dedicated"]),
			Idle: time.Duration(m[cpu+"mark/idle"]), Pause: time.Duration(m[cpu+"pause"])}}
	for i := range g.PauseNs {
		g.PauseNs[i], g.PauseEnd[i] = m[fmt.Sprint("PauseNs", i)], m[fmt.Sprint("PauseEnd", i)]
	}
	return g
}

// short leaves the rings out.
func short(g GC) string {
	g.PauseNs, g.PauseEnd = [PauseRing]uint64{}, [PauseRing]uint64{}
	return strings.ReplaceAll(fmt.Sprintf("%+v", g), " 0", "")
}

// compareGC compares what is read of a program that rests with what it says of itself.
func compareGC(t *testing.T, target *Target, ask func() testenv.Metrics) (GC, testenv.Metrics) {
	t.Helper()
	var before, after GC
	var m testenv.Metrics
	rests := false
	// It ends a cycle that the last allocations started, sweeps, and returns memory.
	for end := time.Now().Add(time.Minute); !rests && time.Now().Before(end); {
		if err := target.ReadGC(&before); err != nil {
			t.Fatal(err)
		}
		m = ask()
		if err := target.ReadGC(&after); err != nil {
			t.Fatal(err)
		}
		before.Allocated, after.Allocated = 0, 0
		rests = before == after && !after.Running
	}
	if !rests {
		t.Fatalf("it never rests: %s, %s", short(before), short(after))
	}
	have, want := after, said(m)
	have.Cycle, have.Ended, have.Percent, have.MemoryLimit, have.Allocated, have.HeapEnd = GCCycle{}, 0, 0, 0, 0, 0
	have.Pace = Pace{Base: have.Pace.Base}
	if have != want {
		t.Errorf("read\n%s\nthe program says\n%s\nits pauses are the same: %t", short(have), short(want), have.PauseNs == want.PauseNs && have.PauseEnd == want.PauseEnd)
	}
	if m["/cpu/classes/gc/total"] != uint64(after.CPU.Total()) || m["Sys"] != after.Mapped() || m["/gc/heap/goal"] != after.Goal ||
		m["/gc/cycles/total"] != uint64(after.Cycles) || m["/gc/cycles/forced"] != uint64(after.Forced) {
		t.Errorf("%s; it says CPU time %d, %d mapped, goal %d, cycles %d, forced %d", short(after), m["/cpu/classes/gc/total"], m["Sys"],
			m["/gc/heap/goal"], m["/gc/cycles/total"], m["/gc/cycles/forced"])
	}
	return after, m
}

var gcModes = []struct {
	name   string
	cycles string
}{{"forced", "7"}, {"forced", "300"}, {"alloc", "20"}, {"mixed", "20"}, {"assist", "20"}, {"limit", "20"}, {"forced", "0"}}

// TestGC compares what is read of the GC of programs, in every way they are built, with what
// they say of it: it is the same.
func TestGC(t *testing.T) {
	testenv.EveryBuild(t, releases, testenv.CyclesSource(), func(t *testing.T, path string) {
		for _, mode := range gcModes {
			t.Run(mode.name+" "+mode.cycles, func(t *testing.T) { testGC(t, path, mode.name, mode.cycles) })
		}
	})
}

func testGC(t *testing.T, path, mode, cycles string) {
	pid, ask := testenv.StartMetrics(t, path, mode, cycles)
	target, err := new(Programs).Attach(procmem.FS{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	g, m := compareGC(t, target, ask)
	all, lost := g.Pauses(0)
	if int(lost)+len(all) != int(g.Cycles) || g.Cycles > PauseRing && len(all) != PauseRing || g.Cycles <= PauseRing && lost != 0 {
		t.Errorf("%d pauses and %d lost of %d cycles", len(all), lost, g.Cycles)
	}
	sum := time.Duration(0)
	for i, p := range all {
		sum += p.Length
		if p.Cycle != lost+uint32(i)+1 || i > 0 && p.End.Before(all[i-1].End) {
			t.Errorf("pause %d: %+v", i, p)
		}
	}
	if lost == 0 && sum != g.PauseTotal || sum > g.PauseTotal {
		t.Errorf("pauses of %v, %v in all", sum, g.PauseTotal)
	}
	y := g.Cycle
	switch {
	case g.Running:
		t.Errorf("a cycle runs: %+v", y)
	case g.Cycles == 0:
		if y != (GCCycle{Goal: y.Goal}) || len(all) != 0 {
			t.Errorf("no cycle, %+v", y)
		}
	case y.Number != g.Cycles || y.Start > y.Mark || y.Mark > y.MarkEnd || y.MarkEnd > y.End || y.End != g.Ended || all[len(all)-1].At != y.End ||
		all[len(all)-1].End.UnixNano() != int64(m["LastGC"]):
		t.Errorf("%+v, last pause %+v", y, all[len(all)-1])
	}
	switch {
	case mode == "limit" && (g.Percent != -1 || g.MemoryLimit != 16<<20), mode == "assist" && (g.Percent != 5 || g.CPU.Assist == 0),
		mode == "alloc" && (g.Percent != 100 || g.MemoryLimit != math.MaxInt64),
		g.Pace.Limited != (mode == "limit"):
		t.Error(short(g))
	}
}

// TestEffectivePercent: the GOGC that gives the goal of a limit; where GOGC decides there is none.
func TestEffectivePercent(t *testing.T) {
	for _, c := range []struct {
		goal    uint64
		limited bool
		want    float64
	}{{150, true, 25}, {100, true, 0}, {80, true, 0}, {150, false, 0}} {
		g := GC{Live: 100, Goal: c.goal, Pace: Pace{Limited: c.limited, Base: 200}}
		if got, limited := g.EffectivePercent(); got != c.want || limited != c.limited {
			t.Errorf("%+v: %v, %v", c, got, limited)
		}
	}
	if got, limited := (&GC{Goal: 1, Pace: Pace{Limited: true}}).EffectivePercent(); got != 0 || limited {
		t.Errorf("of nothing: %v, %v", got, limited)
	}
}

// TestGCExperiments is TestGC for programs with other structures than those of the table, or
// other code: what is read is right, or an error.
func TestGCExperiments(t *testing.T) {
	for _, c := range []struct {
		name, release string
		args, env     []string
	}{
		{"race", "", []string{"-race"}, []string{"CGO_ENABLED=1"}},
		{"no optimization", "", []string{"-gcflags=all=-N -l"}, nil},
		{"nogreenteagc", "", nil, []string{"GOEXPERIMENT=nogreenteagc"}},
		{"greenteagc", "go1.25.5", nil, []string{"GOEXPERIMENT=greenteagc"}},
		{"nosizespecializedmalloc", "go1.27.4", nil, []string{"GOEXPERIMENT=nosizespecializedmalloc"}},
		{"goroutineleakprofile", "", nil, []string{"GOEXPERIMENT=goroutineleakprofile"}},
		{"nospinbitmutex", "go1.24.13", nil, []string{"GOEXPERIMENT=nospinbitmutex"}},
		{"synctest", "go1.24.13", nil, []string{"GOEXPERIMENT=synctest"}},
		{"arenas", "", nil, []string{"GOEXPERIMENT=arenas"}},
		{"v3", "", nil, []string{"GOAMD64=v3"}},
		{"staticlockranking", "", nil, []string{"GOEXPERIMENT=staticlockranking"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.FullOnly(t) // the standard library is compiled again
			if c.release != "" {
				c.env = append(c.env, "GOTOOLCHAIN="+c.release)
			}
			path, err := testenv.Build{Source: testenv.CyclesSource(), Args: c.args, Env: c.env}.Try(t)
			if err != nil {
				testenv.Missing(t, "%v", err)
			}
			pid, ask := testenv.StartMetrics(t, path, "mixed", "20")
			target, err := new(Programs).Attach(procmem.FS{}, pid)
			if err != nil {
				t.Log(err)
				return
			}
			defer target.Close()
			var g GC
			if err := target.ReadGC(&g); err != nil {
				t.Log(err)
				return
			}
			compareGC(t, target, ask)
		})
	}
}

// TestPrograms: what is found in a file is found once, and files that are none are not
// looked at again.
func TestPrograms(t *testing.T) {
	path := testenv.Build{Source: testenv.CyclesSource(), Env: []string{"CGO_ENABLED=0"}}.Do(t)
	var programs Programs
	var last *Target
	for range 2 {
		pid, _ := testenv.StartMetrics(t, path, "forced", "1")
		target, err := programs.Attach(procmem.FS{}, pid)
		if err != nil {
			t.Fatal(err)
		}
		defer target.Close()
		if last != nil && last.at != target.at {
			t.Error("the program was looked at twice")
		}
		last = target
	}
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	testenv.Eventually(t, "sleep is known not to be Go", func() bool {
		_, err := programs.Attach(procmem.FS{}, cmd.Process.Pid)
		return errors.Is(err, executable.ErrNotGo)
	})
	if _, err := programs.Attach(procmem.FS{}, cmd.Process.Pid); !errors.Is(err, executable.ErrNotGo) || len(programs.known) != 2 {
		t.Errorf("%v; %d programs", err, len(programs.known))
	}
}

// TestNoBuildInfo: some programs are shipped with the build information removed. The runtime
// has its version even so.
func TestNoBuildInfo(t *testing.T) {
	path := testenv.Build{Source: testenv.CyclesSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0"}}.Do(t)
	bare := testenv.WithoutBuildInfo(t, path)
	if b, err := ReadBuild(bare); err != nil || b.GoVersion != runtime.Version() || b.Module != "" {
		t.Errorf("build %+v, %v", b, err)
	}
	pid, ask := testenv.StartMetrics(t, bare, "mixed", "10")
	target, err := new(Programs).Attach(procmem.FS{}, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if target.Version() != runtime.Version() {
		t.Errorf("version %q", target.Version())
	}
	compareGC(t, target, ask)
}

func BenchmarkReadGC(b *testing.B) {
	path := testenv.Build{Source: testenv.CyclesSource(), Env: []string{"CGO_ENABLED=0"}}.Do(b)
	pid, _ := testenv.StartMetrics(b, path, "mixed", "20")
	var programs Programs
	target, err := programs.Attach(procmem.FS{}, pid)
	if err != nil {
		b.Fatal(err)
	}
	defer target.Close()
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		var g GC
		for range b.N {
			if err := target.ReadGC(&g); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("attach", func(b *testing.B) {
		for range b.N {
			t, err := programs.Attach(procmem.FS{}, pid)
			if err != nil {
				b.Fatal(err)
			}
			t.Close()
		}
	})
	b.Run("find", func(b *testing.B) {
		for range b.N {
			t, err := new(Programs).Attach(procmem.FS{}, pid)
			if err != nil {
				b.Fatal(err)
			}
			t.Close()
		}
	})
}
