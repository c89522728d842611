package rounds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// mostFailures is how many failed runs of a setting, or rounds lost one after the other,
// are enough.
const mostFailures = 3

// mostKills is how many times a setting may get the container killed.
const mostKills = 2

// A Driver runs a plan in a pod.
type Driver struct {
	Plan    *Plan
	Program *trial.Program
	Runner  trial.Runner // nil: Program
	// Container is the memory limit of the container; nil for none.
	Container *procmem.Limit
	Node      string
	CPU       string // model
	Dir       string // where the file is kept; "" for nowhere
	Log       io.Writer

	file  *os.File
	spec  *metric.Spec
	now   func() time.Time
	done  int // rounds that are whole
	last  int // the last that was begun
	lost  int // one after the other
	arms  []*trial.Arm
	index map[*trial.Arm]int
	fails []int // failed runs
	kills []int
	out   []bool
}

// maxFile bounds what is read of it: some times what the largest plan writes.
const maxFile = 64 << 20

// fileName is that of the lines that were said.
const fileName = "rounds.jsonl"

// Environ returns the environment of the program: that of the driver without what is for
// the driver.
func Environ(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return key == PlanEnv || key == NodeEnv || key == DirEnv
	})
}

// Run runs rounds until the plan is fulfilled. What goes wrong with the program is said on
// the log and is not an error: starting the container again would not help.
func (d *Driver) Run(ctx context.Context) error {
	if d.now == nil {
		d.now = time.Now
	}
	var err error
	if d.spec, err = d.Plan.Spec(); err != nil {
		return err
	}
	n := len(d.Plan.Settings)
	d.fails, d.kills, d.out, d.index = make([]int, n), make([]int, n), make([]bool, n), make(map[*trial.Arm]int)
	for i, s := range d.Plan.Settings {
		arm := trial.NewArm(s)
		d.arms, d.index[arm] = append(d.arms, arm), i
	}
	failed, err := d.resume()
	if err != nil || failed {
		return err
	}
	err = d.rounds(ctx)
	var stop *stopError
	switch {
	case errors.As(err, &stop):
		return d.say(Line{Kind: Failed, Reason: stop.reason})
	case err != nil:
		return err
	}
	return d.say(Line{Kind: End, Round: d.done})
}

// resume says what an earlier container of the pod said, and takes the state from it.
func (d *Driver) resume() (failed bool, err error) {
	var old []Line
	if d.Dir != "" {
		path := filepath.Join(d.Dir, fileName)
		// A disk that is full, or a file that cannot be written, costs what a kill of the
		// container would lose, and nothing else.
		if f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644); err == nil {
			d.file = f
			if err := Read(io.LimitReader(f, maxFile), func(l Line) { old = append(old, l) }); err != nil {
				return false, fmt.Errorf("read %s: %w", path, err)
			}
			// A line that was cut is ended, so that the next one is whole.
			_, _ = f.Write([]byte("\n"))
		}
	}
	if err := d.say(Line{Kind: Begin, Node: d.Node, CPU: d.CPU}); err != nil {
		return false, err
	}
	var running *Line
	for _, l := range old {
		switch l.Kind {
		case Begin, End:
			continue
		case Running:
			d.last = max(d.last, l.Round)
			running = &l
			continue
		case Killed:
			d.kill(l.Setting)
		case Round:
			d.done++
			d.last = max(d.last, l.Round)
		case Out:
			d.leaveOut(l.Setting)
		case Failed:
			failed = true
		}
		running = nil
		if _, err := d.Log.Write(l.encode()); err != nil {
			return false, err
		}
	}
	if running == nil || failed || running.Setting >= len(d.arms) || running.Setting < 0 {
		return failed, nil
	}
	i := running.Setting
	if err := d.say(Line{Kind: Killed, Round: running.Round, Setting: i}); err != nil {
		return false, err
	}
	if d.kill(i); d.kills[i] < mostKills {
		return false, nil
	}
	why := fmt.Sprintf("the container was killed %d times while it ran: for its memory, if the pod says OOMKilled", mostKills)
	if i == 0 {
		return true, d.say(Line{Kind: Failed, Reason: "default: " + why})
	}
	return false, d.giveUp(i, why)
}

func (d *Driver) kill(i int) {
	if i >= 0 && i < len(d.kills) {
		d.kills[i]++
	}
}

func (d *Driver) leaveOut(i int) {
	if i > 0 && i < len(d.out) {
		d.out[i] = true
	}
}

// giveUp leaves a setting out from now on.
func (d *Driver) giveUp(i int, reason string) error {
	d.leaveOut(i)
	return d.say(Line{Kind: Out, Setting: i, Reason: reason})
}

// say writes a line to the log and to the file.
func (d *Driver) say(l Line) error {
	data := l.encode()
	d.keep(data)
	_, err := d.Log.Write(data)
	return err
}

func (d *Driver) keep(data []byte) {
	if d.file != nil {
		_, _ = d.file.Write(data)
	}
}

// A stopError ends the rounds of this pod.
type stopError struct{ reason string }

func (e *stopError) Error() string { return e.reason }

// rounds runs what is left of the plan.
func (d *Driver) rounds(ctx context.Context) error {
	runner := d.Runner
	if runner == nil {
		runner = d.Program
		// A memory limit of the runtime has to fit beside what is outside it: the warm-up shows that.
		d.Program.Container, d.Program.ReadGC = d.Container, d.limited()
		if err := d.mayHeap(); err != nil {
			return err
		}
	}
	sched := trial.NewScheduler(runner, d.Plan.Seed+uint64(d.last))
	sched.Request = func(*trial.Arm, int) trial.Request { return trial.Request{Timeout: d.Plan.Timeout} }
	round := d.last
	sched.Observe = func(arm *trial.Arm, _ int, s *trial.Sample) {
		if s == nil {
			d.keep(Line{Kind: Running, Round: round, Setting: d.index[arm]}.encode())
		}
	}
	begun := d.now()
	// The warm-up counts for nothing: files come into the page cache, and a command that
	// cannot run is found.
	warm, err := sched.Warmup(ctx, d.arms[:1])
	if err := d.startable(warm, err); err != nil {
		return err
	}
	if d.Runner == nil {
		d.Program.ReadGC = false // a run is timed from now on
	}
	if err := d.mustFit(warm); err != nil {
		return err
	}
	for d.done < d.Plan.Rounds && d.now().Sub(begun) < d.Plan.Budget {
		arms := slices.DeleteFunc(slices.Clone(d.arms), func(a *trial.Arm) bool { return d.out[d.index[a]] })
		if len(arms) < 2 {
			return &stopError{"every setting but the default is left out"}
		}
		round++
		if err := d.startable(nil, sched.Round(ctx, arms)); err != nil {
			return err
		}
		if err := d.account(round, arms); err != nil {
			return err
		}
	}
	return nil
}

// startable returns the error of runs that were not possible, or of a warm-up that failed.
func (d *Driver) startable(warm []*trial.Sample, err error) error {
	var start *trial.StartError
	switch {
	case errors.As(err, &start):
		return &stopError{err.Error()}
	case err != nil:
		return err
	case len(warm) > 0 && !warm[0].OK():
		return d.lose(0, "the warm-up failed: "+why(warm[0]))
	}
	return nil
}

// lose says that a round is lost.
func (d *Driver) lose(round int, reason string) error {
	if d.lost++; d.lost < mostFailures {
		return d.say(Line{Kind: Lost, Round: round, Reason: reason})
	}
	return &stopError{fmt.Sprintf("%d rounds one after the other are lost: %s", d.lost, reason)}
}

// account says what a round was.
func (d *Driver) account(round int, arms []*trial.Arm) error {
	var runs []Run
	for _, a := range arms {
		runs = append(runs, d.run(a))
		a.Samples = nil
	}
	if runs[0].Failure != "" {
		return d.lose(round, runs[0].Failure)
	}
	d.lost = 0
	d.done++
	if err := d.say(Line{Kind: Round, Round: round, Runs: runs}); err != nil {
		return err
	}
	for _, r := range runs {
		if r.Failure == "" {
			continue
		}
		if d.fails[r.Setting]++; d.fails[r.Setting] >= mostFailures {
			if err := d.giveUp(r.Setting, fmt.Sprintf("%d runs failed, the last one: %s", mostFailures, r.Failure)); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayHeap leaves out the settings with huge pages for a heap that cannot have them.
func (d *Driver) mayHeap() error {
	asked := false
	for _, s := range d.Plan.Settings {
		asked = asked || s.THP == trial.THPHeap
	}
	if !asked {
		return nil
	}
	err := d.Program.MayHeap()
	if err == nil {
		return nil
	}
	for i, s := range d.Plan.Settings {
		if s.THP == trial.THPHeap && !d.out[i] {
			if err := d.giveUp(i, err.Error()); err != nil {
				return err
			}
		}
	}
	return nil
}

// limited says that a setting has a memory limit, and the container too.
func (d *Driver) limited() bool {
	return d.Container != nil && slices.ContainsFunc(d.Plan.Settings, func(s trial.Setting) bool { return s.MemLimit > 0 })
}

// mustFit leaves out the settings whose memory limit does not fit into the container, by what the
// warm-up had outside the Go runtime: the container would be killed.
func (d *Driver) mustFit(warm []*trial.Sample) error {
	if !d.limited() || len(warm) == 0 {
		return nil
	}
	fit, ok := warm[0].Held.Fit(d.Container.Bytes)
	if !ok {
		return nil
	}
	for i, s := range d.Plan.Settings {
		if s.MemLimit == 0 || d.out[i] || !fit.Breaks(s.MemLimit) {
			continue
		}
		reason := fmt.Sprintf("GOMEMLIMIT=%s does not fit into the container. %s", unit.Exact(s.MemLimit), fit.Reason())
		if most := fit.Setting(); most != "" {
			reason = fmt.Sprintf("GOMEMLIMIT=%s does not fit into the container, %s does: %s", unit.Exact(s.MemLimit), most, fit.Reason())
		}
		if err := d.giveUp(i, reason); err != nil {
			return err
		}
	}
	return nil
}

// run is what the last sample of an arm says.
func (d *Driver) run(a *trial.Arm) Run {
	s := a.Samples[len(a.Samples)-1]
	r := Run{Setting: d.index[a], Wall: s.Wall, CPU: s.CPU, Faults: s.MinorFaults + s.MajorFaults}
	if !s.OK() {
		r.Failure = why(s)
		return r
	}
	r.Memory, _ = s.MostMemory()
	var ok bool
	switch {
	case d.spec.Pattern != nil:
		r.Metric, ok = s.Metrics[d.spec.Name]
	case d.spec.Name == metric.CPU:
		r.Metric, ok = s.CPU, true
	case d.spec.Name == metric.Bench:
		r.Metric, ok = metric.BenchMean(s.Metrics, nil)
	default:
		r.Metric, ok = s.Wall, true
	}
	if !ok || !(r.Metric > 0) || math.IsInf(r.Metric, 0) {
		r.Failure, r.Metric = d.spec.Missing(), 0
	}
	return r
}

// why says in a line why a sample does not count.
func why(s *trial.Sample) string {
	text := s.Failure
	if last := s.Reason(); last != "" {
		text += ": " + last
	}
	return text
}
