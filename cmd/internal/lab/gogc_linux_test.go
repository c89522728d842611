package lab

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestGogcWork runs a few arms of each workload in processes of their own. What
// they count is exact; how fast they are is not looked at.
func TestGogcWork(t *testing.T) {
	testenv.Long(t)
	e := *gogc
	var names []string
	e.defaults.Count = 60
	e.arms = func(m *Machine, p Params) (out []*Arm) {
		for _, a := range gogcArms(m, p) {
			if _, name, _ := strings.Cut(a.Name, "-"); name == "100" || name == "off" || name == tuned || name == "goroutines-1" {
				out, names = append(out, a), append(names, a.Name)
			}
		}
		return out
	}
	m := ReadMachine()
	m.CPUs = runtime.GOMAXPROCS(0)
	res, err := Run(context.Background(), Options{
		Experiments: []*Experiment{&e}, Machine: m, Size: 256 << 20, Rounds: 1, Runner: Process([]string{os.Args[0], "arm"}, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	out := res.Outcomes[0]
	if out.Err != nil || len(names) != 4*len(gogcLoads) {
		t.Fatalf("%v: %q", out.Err, names)
	}
	for _, name := range names {
		a := out.Arm(name)
		at := func(key string) float64 { return out.at(a, out.Params.Size, key) }
		between(t, name+" operations", at(opsKey), 1e-9, 1e12)
		between(t, name+" of each goroutine", at("goroutine_ops_per_second")*float64(a.Arm.Task.Goroutines), 0.999*at(opsKey), 1.001*at(opsKey))
		between(t, name+" in the GC", at(runtimeGC.Key), 0, 1)
		between(t, name+" memory", at(rssKey), 1<<20, 1<<40)
		switch _, value, _ := strings.Cut(name, "-"); value {
		case "off":
			between(t, name+" GOGC", at("gogc"), -1, -1)
		case "100", "goroutines-1":
			between(t, name+" GOGC", at("gogc"), 100, 100)
		default:
			between(t, name+" GOGC", at("gogc"), 100, 1e6)
		}
	}
}

// A traced run is sampled, too, and no share in it is above its whole.
func TestGogcTraced(t *testing.T) {
	run := Process([]string{os.Args[0], "arm"}, nil)
	var arm *Arm
	for _, a := range gogc.Arms(ReadMachine(), Params{Size: 256 << 20, Count: 60}) {
		if a.Name == "trees-100" {
			arm = a
		}
	}
	task := arm.Task
	task.Trace = true
	s, err := run(context.Background(), task, setting(arm))
	if err != nil || !s.OK() {
		t.Fatal(err, s)
	}
	if s.GC == nil || s.GCCycles == nil || *s.GCCycles == 0 || s.GCCounted != trial.GCComplete {
		t.Errorf("nothing was seen: %+v", s)
	}
	if s.Profile != nil && !(*s.GCShare <= *s.MemoryTax && *s.MemoryTax <= 1) {
		t.Errorf("GC share %v, memory tax %v", *s.GCShare, *s.MemoryTax)
	}
}

func TestGogcWorkFails(t *testing.T) {
	for _, how := range []string{"", "nothing", "ecdsa"} {
		if err := Work(Task{Experiment: "gogc", Arm: "x", How: how, Size: 1 << 20, Count: 1}, os.Stdout); err == nil ||
			!strings.Contains(err.Error(), "no workload") {
			t.Errorf("%q: %v", how, err)
		}
	}
}
