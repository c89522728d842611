package lab

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/internal/test/testenv"
)

// arenasRun runs an experiment on arenas once, in processes of their own.
func arenasRun(t *testing.T, e *Experiment, size uint64) *Outcome {
	t.Helper()
	return arenasRuns(t, size, e)[0]
}

func arenasRuns(t *testing.T, size uint64, all ...*Experiment) []*Outcome {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	m := ReadMachine()
	if size > m.Spare/arenas.share() {
		testenv.Missing(t, "too little memory")
	}
	res, err := Run(context.Background(), Options{
		Experiments: all, Machine: m, Size: size, Rounds: 1, Runner: Process([]string{os.Args[0], "arm"}, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for _, out := range res.Outcomes {
		if out.Err != nil || !out.Complete || out.Rounds != 1 {
			t.Fatalf("%v, complete %v, %d rounds", out.Err, out.Complete, out.Rounds)
		}
	}
	return res.Outcomes
}

// All arms do the same work, those in Go's arenas too.
func TestArenasWork(t *testing.T) {
	testenv.FullOnly(t)
	if _, err := exec.LookPath("go"); err != nil {
		testenv.Missing(t, "%v", err)
	}
	var few []*Experiment
	for _, e := range []*Experiment{arenas, arenasJSON, arenasIndex} {
		less := *e
		less.defaults.Count = 2
		few = append(few, &less)
	}
	for _, out := range arenasRuns(t, 1<<20, few...) {
		e := out.Experiment
		if len(out.Arms) != 9 {
			t.Errorf("%s: %d arms", e.Name, len(out.Arms))
		}
		sum := out.at(out.Arm("new"), 1<<20, "checksum")
		for _, a := range out.Arms {
			if a.Arm.NotRun != "" || a.Failure != "" {
				t.Errorf("%s %s: %s%s", e.Name, a.Arm.Name, a.Arm.NotRun, a.Failure)
				continue
			}
			for _, f := range arenasFigures {
				v := a.Values(1<<20, f.Key)
				if len(v) != 1 || v[0] < 0 {
					t.Errorf("%s %s: %s is %v", e.Name, a.Arm.Name, f.Key, v)
				}
			}
			if got := out.at(a, 1<<20, "checksum"); got != sum || sum == 0 {
				t.Errorf("%s %s: checksum %v, want %v", e.Name, a.Arm.Name, got, sum)
			}
		}
		if often, seldom := out.at(out.Arm("new"), 1<<20, "gc_cycles"), out.at(out.Arm("gogc-800"), 1<<20, "gc_cycles"); seldom > often {
			t.Errorf("%s: %v GC cycles with GOGC=800, %v with GOGC=100", e.Name, seldom, often)
		}
	}
}

// Huge pages make the faults of arenas fewer.
func TestArenasHugePages(t *testing.T) {
	needTHP(t)
	e := *arenas
	e.arms = func(m *Machine, p Params) []*Arm {
		return slices.DeleteFunc(arenasArms(m, p), func(a *Arm) bool { return a.Name != "folio" && a.Name != "folio-base" })
	}
	const size = 16 << 20
	out := arenasRun(t, &e, size)
	folio, base := out.Arm("folio"), out.Arm("folio-base")
	if huge := out.at(folio, size, "huge_fraction"); huge <= 0 || huge > 1 {
		t.Errorf("%v of the memory was huge", huge)
	}
	if all, err := settings.Read("/" + thpDir + "enabled"); err != nil || all != "madvise" {
		return // the others may get huge pages, too
	}
	if huge := out.at(base, size, "huge_fraction"); huge != 0 {
		t.Errorf("%v of the memory was huge that nobody asked for", huge)
	}
	if x, y := out.at(folio, size, "faults"), out.at(base, size, "faults"); x >= y {
		t.Errorf("%v faults with huge pages, %v without", x, y)
	}
}

// Without a go command that can build it, the arm in Go's arenas is absent, with
// the reason; the others run.
func TestNoGoArenas(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, script, want string }{
		{"none", "", "it needs the go command, which is not on PATH"},
		{"an old one", "#!/bin/sh\necho 'go: unknown GOEXPERIMENT arenas' >&2; exit 2\n",
			"cannot build it with GOEXPERIMENT=arenas: go: unknown GOEXPERIMENT arenas"},
		{"one that makes nothing", "#!/bin/sh\nexit 0\n", "built nothing"},
	} {
		if tt.script != "" {
			if err := os.WriteFile(filepath.Join(dir, "go"), []byte(tt.script), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", dir)
		e := *arenas
		e.arms = func(m *Machine, p Params) []*Arm {
			return slices.DeleteFunc(arenasArms(m, p), func(a *Arm) bool { return a.Name != "new" && a.Name != goArenas })
		}
		out := arenasRun(t, &e, 1<<20)
		if a := out.Arm(goArenas); !strings.Contains(a.Arm.NotRun, tt.want) || len(a.Samples) > 0 || a.Arm.Missing {
			t.Errorf("%s: not run: %q, %d samples", tt.name, a.Arm.NotRun, len(a.Samples))
		}
		if !out.Arm("new").Ran() {
			t.Errorf("%s: new did not run", tt.name)
		}
	}
}

// An interrupt while something is built ends the lab, and leaves nothing behind.
func TestInterruptPreparing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := &fake{}
	o := f.options(machine(kernel(t, nil)), arenas, faults)
	o.Prepare = func(ctx context.Context, _ *Arm, dir string, _ bool) error {
		if err := os.WriteFile(filepath.Join(dir, "half"), nil, 0o666); err != nil {
			t.Error(err)
		}
		cancel()
		return ctx.Err()
	}
	res, err := Run(ctx, o)
	if err != nil || !res.Interrupted || len(f.order) > 0 {
		t.Errorf("%v, %+v, ran %q", err, res, f.order)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
