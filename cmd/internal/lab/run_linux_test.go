package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// A fake runs tasks without processes. Each trial takes a second of its clock.
type fake struct {
	now   time.Time
	order []string
	// during is called while a trial runs.
	during func(Task)
	// sample makes the sample of a trial; nil: a good one.
	sample func(Task) (*trial.Sample, error)
}

func (f *fake) run(ctx context.Context, t Task, s trial.Setting) (*trial.Sample, error) {
	f.order = append(f.order, t.Arm)
	f.now = f.now.Add(time.Second)
	if f.during != nil {
		f.during(t)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f.sample != nil {
		if s, err := f.sample(t); s != nil || err != nil {
			return s, err
		}
	}
	return good(t, 1), nil
}

// prepare makes nothing: a fake needs nothing.
func (f *fake) prepare(ctx context.Context, _ *Arm, _ string, _ bool) error { return ctx.Err() }

func good(t Task, v float64) *trial.Sample {
	e, _ := Lookup(t.Experiment)
	m := make(map[string]float64)
	for _, f := range e.Figures {
		m[fmt.Sprintf("%s/size=%d %s", benchmark(t.Experiment), t.Size, f.Key)] = v
	}
	return &trial.Sample{Metrics: m}
}

func bad(code int, text string) *trial.Sample {
	return &trial.Sample{ExitCode: &code, Failure: fmt.Sprintf("exit code %d", code), Tail: "folio: " + text + "\n"}
}

func (f *fake) options(m *Machine, e ...*Experiment) Options {
	return Options{Experiments: e, Machine: m, Rounds: 3, Seed: 1, Runner: f.run, Now: func() time.Time { return f.now }, Prepare: f.prepare}
}

func TestRunAll(t *testing.T) {
	f := &fake{}
	m := machine(kernel(t, nil))
	o := f.options(m, Experiments()...)
	var progress []Progress
	o.Progress = func(p Progress) {
		if !p.Preparing {
			progress = append(progress, p)
		}
	}
	partial := 0
	o.Partial = func(*Result) { partial++ }
	res, err := Run(context.Background(), o)
	if err != nil || res.Interrupted || len(res.Outcomes) != len(Experiments()) {
		t.Fatalf("%v, %+v", err, res)
	}
	runs := 0
	for _, out := range res.Outcomes {
		if out.Err != nil || !out.Complete || out.Rounds != 3 || out.Elapsed == 0 {
			t.Errorf("%s: %v, complete %v, %d rounds in %v", out.Experiment.Name, out.Err, out.Complete, out.Rounds, out.Elapsed)
		}
		for _, a := range out.Arms {
			if len(a.Arm.Changes) > 0 { // nobody allowed them
				if !a.Arm.Forbidden || !strings.HasPrefix(a.Arm.NotRun, "needs --allow-system, to ") || len(a.Samples) > 0 {
					t.Errorf("%s %s: not run: %q, %d samples", out.Experiment.Name, a.Arm.Name, a.Arm.NotRun, len(a.Samples))
				}
				continue
			}
			if len(a.Samples) != 3 || !a.Ran() {
				t.Errorf("%s %s: %d samples", out.Experiment.Name, a.Arm.Name, len(a.Samples))
			}
			runs += 3
			if !out.Experiment.noWarmup {
				runs++ // the warm-up
			}
		}
		if len(out.Conclusions()) == 0 {
			t.Errorf("%s says nothing", out.Experiment.Name)
		}
	}
	if len(f.order) != runs || len(progress) != runs || partial != 4*len(Experiments()) {
		t.Errorf("%d runs, %d progress reports, %d partial results; want %d, %d, %d", len(f.order), len(progress),
			partial, runs, runs, 4*len(Experiments()))
	}
	for i, p := range progress {
		if p.Left <= 0 || p.Round < 0 || p.Round > p.Rounds || p.Arm != f.order[i] {
			t.Errorf("progress %+v", p)
		}
	}
	if last := progress[len(progress)-1]; last.Left != time.Second {
		t.Errorf("%v left before the last trial", last.Left)
	}
}

// The arms of a round run in random order, the same for the same seed.
func TestRunOrder(t *testing.T) {
	orders := make(map[string]bool)
	for i := range 4 {
		f := &fake{}
		o := f.options(machine(kernel(t, nil)), faults)
		o.Seed = uint64(i / 2)
		if _, err := Run(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		for round := range slices.Chunk(f.order, 6) {
			sorted := slices.Sorted(slices.Values(round))
			if strings.Join(sorted, " ") != "ahead base populate populate-thp reused thp" {
				t.Fatalf("round %q", round)
			}
		}
		orders[strings.Join(f.order, " ")] = true
	}
	if len(orders) != 2 {
		t.Errorf("%d orders with 2 seeds", len(orders))
	}
}

// snapshot returns all files below a directory.
func snapshot(t *testing.T, root string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var text string
			text, err = settings.Read(path)
			out[path] = text
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// With permission each arm runs under its settings, which are announced before
// and put back before the next trial.
func TestRunSystem(t *testing.T) {
	root := kernel(t, nil)
	m := machine(root)
	before := snapshot(t, root)
	f := &fake{}
	o := f.options(m, pages, bloat)
	o.AllowSystem = true
	announced := make(map[string]bool)
	o.Announce = func(_ string, changes []settings.Change) {
		for _, c := range changes {
			announced[c.Path+"="+c.Value] = true
		}
	}
	f.during = func(task Task) {
		e, _ := Lookup(task.Experiment)
		p, _, _ := e.params(m, o)
		now := snapshot(t, root)
		want := maps.Clone(before)
		for _, a := range e.Arms(machine(kernel(t, nil)), p) {
			if a.Name != task.Arm {
				continue
			}
			for _, c := range a.Changes {
				path := root + c.Path[strings.Index(c.Path, "/sys/kernel"):]
				want[path] = c.Value
				if !announced[path+"="+c.Value] {
					t.Errorf("%s=%s was not announced", path, c.Value)
				}
			}
		}
		if !maps.Equal(now, want) {
			t.Errorf("%s %s ran under\n%v\nwant\n%v", task.Experiment, task.Arm, now, want)
		}
	}
	res, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range res.Outcomes {
		for _, a := range out.Arms {
			if len(a.Samples) != 3 {
				t.Errorf("%s %s: %d samples, %s %s", out.Experiment.Name, a.Arm.Name, len(a.Samples), a.Arm.NotRun, a.Failure)
			}
		}
	}
	if after := snapshot(t, root); !maps.Equal(before, after) {
		t.Errorf("afterwards\n%v\nwas\n%v", after, before)
	}
}

// Whatever ends a lab, the settings are as they were.
func TestRunEnds(t *testing.T) {
	for _, how := range []string{"interrupt", "panic", "error"} {
		root := kernel(t, nil)
		before := snapshot(t, root)
		ctx, cancel := context.WithCancel(context.Background())
		f := &fake{}
		o := f.options(machine(root), bloat, stall)
		o.AllowSystem = true
		f.during = func(task Task) {
			if task.Arm != "khugepaged-0" || len(f.order) < 8 {
				return
			}
			if maps.Equal(before, snapshot(t, root)) {
				t.Error("the arm runs without its settings")
			}
			switch how {
			case "interrupt":
				cancel()
			case "panic":
				panic("a bug")
			}
		}
		if how == "error" {
			f.sample = func(task Task) (*trial.Sample, error) {
				if task.Arm == "khugepaged-0" {
					return nil, errors.New("no more processes")
				}
				return nil, nil
			}
		}
		res, err := func() (res *Result, err error) {
			defer func() {
				if v := recover(); v != nil {
					err = fmt.Errorf("panic: %v", v)
				}
			}()
			return Run(ctx, o)
		}()
		cancel()
		switch how {
		case "interrupt":
			if err != nil || !res.Interrupted || len(res.Outcomes) != 2 || res.Outcomes[0].Complete || res.Outcomes[1].Rounds > 0 {
				t.Errorf("interrupt: %v, %+v", err, res)
			}
		default:
			if err == nil {
				t.Errorf("%s: no error", how)
			}
		}
		if after := snapshot(t, root); !maps.Equal(before, after) {
			t.Errorf("%s: afterwards\n%v\nwas\n%v", how, after, before)
		}
	}
}

// What goes wrong in one arm or experiment does not keep the others from running.
func TestRunGoesOn(t *testing.T) {
	root := kernel(t, nil)
	m := machine(root)
	f := &fake{sample: func(task Task) (*trial.Sample, error) {
		switch task.Experiment + " " + task.Arm {
		case "faults populate":
			return bad(1, "faults populate: out of luck"), nil
		case "faults ahead":
			return bad(exitNotSupported, "faults ahead: not supported: needs Linux 5.14"), nil
		case "faults reused":
			return bad(exitNotHere, "cannot be done now: later"), nil
		}
		return nil, nil
	}}
	o := f.options(m, faults, bloat, fork)
	o.AllowSystem = true
	if err := os.Remove(filepath.Join(root, thpDir, "khugepaged/scan_sleep_millisecs")); err != nil {
		t.Fatal(err)
	}
	res, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	out := res.Outcomes[0]
	if out.Err == nil || out.Err.Error() != "faults: populate: out of luck; ahead: not supported: needs Linux 5.14" {
		t.Errorf("error %v", out.Err)
	}
	for arm, want := range map[string][3]string{
		"populate": {"out of luck", "", "false"}, "ahead": {"", "not supported: needs Linux 5.14", "true"},
		"reused": {"", "cannot be done now: later", "false"}, "base": {"", "", "false"},
	} {
		a := out.Arm(arm)
		if got := [3]string{a.Failure, a.Arm.NotRun, fmt.Sprint(a.Arm.Missing)}; got != want {
			t.Errorf("%s: %q, want %q", arm, got, want)
		}
		if n := len(a.Samples); n > 1 != (arm == "base") {
			t.Errorf("%s: %d samples", arm, n)
		}
	}
	if err := res.Outcomes[1].Err; err == nil || !strings.Contains(err.Error(), "scan_sleep_millisecs") {
		t.Errorf("a setting that is not there: %v", err)
	}
	if got, _ := settings.Read(filepath.Join(root, thpDir, "khugepaged/max_ptes_none")); got != "511" {
		t.Errorf("max_ptes_none holds %s after half of the changes failed", got)
	}
	if out := res.Outcomes[2]; out.Err != nil || out.Rounds != 3 {
		t.Errorf("the last one: %v, %d rounds", out.Err, out.Rounds)
	}
	// Nothing fits: every experiment says so, and none runs.
	f = &fake{}
	o = f.options(m, pages, faults)
	o.Size = 1 << 50
	if res, err = Run(context.Background(), o); err != nil || len(f.order) > 0 {
		t.Errorf("%v, ran %q", err, f.order)
	}
	for _, out := range res.Outcomes {
		if out.Err == nil || !out.Refused || out.Complete {
			t.Errorf("%s: %v", out.Experiment.Name, out.Err)
		}
	}
}

// --quick ends an experiment when its time is over, after whole rounds.
func TestRunQuick(t *testing.T) {
	f := &fake{}
	o := f.options(machine(kernel(t, nil)), faults, fork)
	o.Quick, o.Rounds = true, 0
	res, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	// Six arms at a second each: after two rounds there is no time for a third.
	if out := res.Outcomes[0]; out.Rounds != 2 || out.Err != nil || len(out.Notes) != 1 ||
		out.Notes[0] != "--quick: 2 of 5 rounds, for lack of time" {
		t.Errorf("%d rounds, %v, %q", out.Rounds, out.Err, out.Notes)
	}
	if out := res.Outcomes[1]; out.Rounds != 5 || len(out.Notes) > 0 { // three arms
		t.Errorf("fork: %d rounds", out.Rounds)
	}
}

// A setting that cannot be put back ends the lab, with an error that says which.
func TestRunCannotRestore(t *testing.T) {
	root := kernel(t, nil)
	f := &fake{}
	o := f.options(machine(root), bloat, fork)
	o.AllowSystem = true
	f.during = func(task Task) {
		if strings.HasPrefix(task.Arm, "khugepaged") {
			_ = os.Remove(filepath.Join(root, thpDir, "khugepaged/pages_to_scan"))
		}
	}
	res, err := Run(context.Background(), o)
	if err == nil || !strings.Contains(err.Error(), "put back") || !strings.Contains(err.Error(), "pages_to_scan") {
		t.Errorf("error %v", err)
	}
	if res.Outcomes[1].Rounds > 0 {
		t.Error("the lab went on")
	}
	if got, _ := settings.Read(filepath.Join(root, thpDir, "khugepaged/max_ptes_none")); got != "511" {
		t.Errorf("the other settings were not put back: max_ptes_none is %s", got)
	}
}
