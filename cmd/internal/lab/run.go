package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
)

// Options are what a lab runs, and how.
type Options struct {
	Experiments []*Experiment // default: those of Default
	Quick       bool          // less of everything: an answer within two minutes
	Size        uint64        // bytes, instead of each experiment's own; 0 for that
	Rounds      int           // likewise
	Seed        uint64

	// AllowSystem lets arms change settings of the whole system. Announce is told
	// which, before; Self is then how the guard is started, see [Guard].
	AllowSystem bool
	Announce    func(experiment string, changes []settings.Change)
	Self        []string

	// Limits are those that Runner gives the processes of arms.
	Limits cgroup.Limits

	// Runner runs one trial of a task: [Process] does.
	Runner  func(context.Context, Task, trial.Setting) (*trial.Sample, error)
	Machine *Machine // default: this one
	// Prepare makes what an arm needs; default: the arm's own Prepare.
	Prepare func(ctx context.Context, a *Arm, dir string, quick bool) error

	Progress func(Progress)
	// Partial is shown the result so far after every round.
	Partial func(*Result)
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// Progress is where a lab is, before a trial.
type Progress struct {
	Experiment, Arm string
	Round, Rounds   int // round 0 is the warm-up
	Left            time.Duration
	Preparing       bool // no trial, but what the arm needs is made
}

// String is a line for who waits.
func (p Progress) String() string {
	round := "warm-up"
	switch {
	case p.Preparing:
		round = "preparing"
	case p.Round > 0:
		round = fmt.Sprintf("round %d of %d", p.Round, p.Rounds)
	}
	return fmt.Sprintf("%s: %s, about %s left: %s", p.Experiment, round, unit.Span(p.Left.Round(time.Second)), p.Arm)
}

// Process returns a Runner that has command, with a task's arguments behind it,
// run tasks as processes: in cgroups, unless that is nil.
func Process(command []string, cgroups *cgroup.Parent) func(context.Context, Task, trial.Setting) (*trial.Sample, error) {
	return func(ctx context.Context, t Task, s trial.Setting) (*trial.Sample, error) {
		p := &trial.Program{Command: append(slices.Clone(command), t.Args()...), ReadGC: t.Trace, IsGo: t.Trace, Cgroups: cgroups}
		req := trial.Request{Timeout: 10 * time.Minute}
		if t.Trace {
			req.Profile = tracedRate
		}
		return p.Run(ctx, s, req)
	}
}

// quickBudget is how long each experiment may take under Quick; a round that
// has begun is ended.
const quickBudget = 15 * time.Second

// quickBudgetApart is the same for one that runs only when it is named.
const quickBudgetApart = time.Minute

// A run is a lab at work.
type run struct {
	Options
	res     *Result
	begun   time.Time
	changer *settings.Changer
	pace    pace
	dir     *scratch.Dir // of what arms prepare; nil while there is nothing
}

// Run runs experiments. What goes wrong within one is in its outcome; the error
// is of what ends them all: an interrupt, or a setting that could not be put back.
// The result is never nil.
func Run(ctx context.Context, o Options) (res *Result, err error) {
	if o.Experiments == nil {
		o.Experiments = Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &run{Options: o, res: &Result{Seed: o.Seed}, begun: o.Now(), changer: &settings.Changer{}}
	if runtime.GOOS != "linux" {
		return r.res, fmt.Errorf("lab: %w", trial.ErrNotSupported)
	}
	if r.Quick {
		r.pace.bound = quickBudget
	}
	if r.Machine == nil {
		r.Machine = ReadMachine()
	}
	if m := r.Limits.Memory; m != nil {
		limited := *r.Machine
		limited.Spare = min(limited.Spare, *m/10*7)
		r.Machine = &limited
	}
	defer func() {
		// Also when this function panics: then the guard has less to do.
		err = errors.Join(err, r.changer.Close(), r.tidy())
	}()
	var todo []*Outcome
	for _, e := range r.Experiments {
		todo = append(todo, r.prepare(e))
	}
	r.res.Outcomes = todo
	if err := r.permitted(todo); err != nil {
		return &Result{}, err
	}
	for i, out := range todo {
		r.pace.rest = todo[i+1:]
		err = r.experiment(ctx, out)
		r.res.Elapsed = r.Now().Sub(r.begun)
		if r.Partial != nil {
			r.Partial(r.res)
		}
		if err != nil {
			break
		}
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		r.res.Interrupted, err = true, nil
	}
	return r.res, err
}

// prepare lists the arms of an experiment and says which cannot run.
func (r *run) prepare(e *Experiment) *Outcome {
	p, notes, err := e.params(r.Machine, r.Options)
	out := &Outcome{Experiment: e, Params: p, Notes: notes, Err: err, Refused: err != nil}
	for _, a := range e.Arms(r.Machine, p) {
		if err != nil && a.NotRun == "" {
			a.NotRun = err.Error()
		}
		if a.NotRun == "" {
			a.NotRun = beyond(a, r.Limits)
		}
		if a.NotRun == "" && len(a.Changes) > 0 && !r.AllowSystem {
			a.NotRun, a.Forbidden = "needs --allow-system, to "+changesText(a.Changes), true
		}
		out.Arms = append(out.Arms, &ArmResult{Arm: a})
	}
	return out
}

// permitted says at once that settings of the system cannot be changed.
func (r *run) permitted(todo []*Outcome) error {
	for _, out := range todo {
		for _, a := range out.Arms {
			for _, c := range a.Arm.Changes {
				if a.Arm.NotRun != "" {
					continue
				}
				if err := c.Permitted(); errors.Is(err, fs.ErrPermission) {
					return fmt.Errorf("--allow-system: %s: %s: %w; run folio as root, or leave out --allow-system", out.Experiment.Name, a.Arm.Name, err)
				}
			}
		}
	}
	return nil
}

// beyond says why an arm cannot run under limits, "" if it can.
func beyond(a *Arm, l cgroup.Limits) string {
	switch {
	case a.Task.Cgroup != "" && !l.IsZero():
		return "has a cgroup of its own: run it without --cgroup-memory and --cgroup-cpus"
	case a.Task.How == inPieces && l.Memory != nil:
		return "takes all free memory of the machine: run it without --cgroup-memory"
	}
	return ""
}

func changesText(changes []settings.Change) string {
	var texts []string
	for _, c := range changes {
		texts = append(texts, c.String())
	}
	return strings.Join(texts, ", ")
}

// params returns how much work an experiment does on a machine.
func (e *Experiment) params(m *Machine, o Options) (Params, []string, error) {
	p := e.defaults
	if o.Quick {
		p = e.quick
	}
	if o.Rounds > 0 {
		p.Rounds = o.Rounds
	}
	var notes []string
	fits := floorPower(m.Spare / e.share())
	switch {
	case o.Size > 0:
		p.Size = max(floorPower(o.Size), uint64(m.BasePage))
		if p.Size != o.Size {
			notes = append(notes, fmt.Sprintf("sizes are powers of two: %s instead of %s", unit.Exact(p.Size), unit.Exact(o.Size)))
		}
		if p.Size > fits {
			return p, notes, fmt.Errorf("%s: --size %s is too much: the machine, or this container, can spare %s for it", e.Name,
				unit.Exact(o.Size), unit.Exact(fits))
		}
	case p.Size > fits:
		if fits < 1<<20 {
			return p, notes, fmt.Errorf("%s: the machine, or this container, has too little free memory: %s", e.Name, unit.Exact(m.Spare))
		}
		notes = append(notes, fmt.Sprintf("%s does not fit into free memory: %s instead", unit.Exact(p.Size), unit.Exact(fits)))
		p.Size = fits
	}
	return p, notes, nil
}

// share is which part of the memory that can be spared the size of an experiment
// may be: it holds that much twice or so.
func (e *Experiment) share() uint64 {
	switch {
	case e == pages || e == faults:
		return 1
	case e.Family == arenasFamily: // one that collects late holds much more
		return 12
	case e == assist: // with its garbage, also without assists
		return 16
	case e == index: // of ten MiB of text, which half a GiB of garbage comes from
		return 128
	}
	return 2
}

// budget is how long the experiment may take under Quick: those of a family
// are one that is done in parts.
func (e *Experiment) budget() time.Duration {
	if e.Apart {
		return quickBudgetApart
	}
	parts := 0
	for _, other := range Experiments() {
		if other == e || e.Family != "" && other.Family == e.Family {
			parts++
		}
	}
	return quickBudget / time.Duration(max(parts, 1))
}

// runnable returns the arms that can go on.
func (o *Outcome) runnable() []*ArmResult {
	return slices.DeleteFunc(slices.Clone(o.Arms), func(a *ArmResult) bool { return a.Arm.NotRun != "" || a.Failure != "" })
}

// experiment runs one experiment. The error ends the lab.
func (r *run) experiment(ctx context.Context, out *Outcome) error {
	if out.Err != nil {
		return nil
	}
	begun := r.Now()
	defer func() { out.Elapsed = r.Now().Sub(begun) }()
	var changes []settings.Change
	for _, a := range out.runnable() {
		for _, c := range a.Arm.Changes {
			if !slices.Contains(changes, c) {
				changes = append(changes, c)
			}
		}
	}
	if err := r.ready(ctx, out); err != nil {
		return err
	}
	if len(changes) > 0 {
		if err := r.guarded(); err != nil {
			return err
		}
		if r.Announce != nil {
			r.Announce(out.Experiment.Name, changes)
		}
	}
	if err := r.rounds(ctx, out, r.Now()); err != nil {
		return err
	}
	if err := r.traces(ctx, out); err != nil {
		return err
	}
	out.Complete = true
	out.Err = out.failure()
	return nil
}

func (r *run) rounds(ctx context.Context, out *Outcome, begun time.Time) error {
	sched := trial.NewScheduler(nil, r.Seed)
	round := 0
	sched.Observe = func(a *trial.Arm, n int, s *trial.Sample) {
		if s == nil && r.Progress != nil {
			r.Progress(Progress{Experiment: out.Experiment.Name, Arm: a.Name, Round: n, Rounds: out.Params.Rounds, Left: r.pace.left(out, n)})
		}
	}
	if !r.Quick && out.Params.Rounds > 1 && !out.Experiment.noWarmup {
		arms := r.schedulerArms(out)
		samples, err := sched.Warmup(ctx, arms)
		if err != nil {
			return err
		}
		for i, a := range out.runnable() {
			a.judge(samples[i])
		}
	}
	for round < out.Params.Rounds {
		live := out.runnable()
		if len(live) == 0 {
			return nil
		}
		arms := r.schedulerArms(out)
		began := r.Now()
		err := sched.Round(ctx, arms)
		for i, a := range live {
			if n := len(arms[i].Samples); n > 0 {
				a.Samples = append(a.Samples, arms[i].Samples[n-1])
				a.judge(arms[i].Samples[n-1])
			}
		}
		if err != nil {
			return err
		}
		out.agree()
		round++
		out.Rounds = round
		r.res.Elapsed = r.Now().Sub(r.begun)
		if r.Partial != nil {
			r.Partial(r.res)
		}
		if now := r.Now(); r.Quick && round < out.Params.Rounds && r.Rounds == 0 && now.Sub(begun)+now.Sub(began) > out.Experiment.budget() {
			out.Notes = append(out.Notes, fmt.Sprintf("--quick: %d of %d rounds, for lack of time", round, out.Params.Rounds))
			return nil
		}
	}
	return nil
}

// tracedRate is how often a second of CPU time traced runs are sampled.
const tracedRate = 499

// traces runs some arms a few times more, with the GC traced and sampled. A run that
// fails is missing, no more: what was measured is there.
func (r *run) traces(ctx context.Context, out *Outcome) error {
	if out.Experiment.trace == nil {
		return nil
	}
	for _, a := range out.Experiment.trace(out) {
		t := a.Arm.Task
		t.Trace = true
		for range fewestRuns {
			s, err := r.Runner(ctx, t, setting(a.Arm))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil && s.OK() {
				a.Traced = append(a.Traced, s)
			}
		}
	}
	return nil
}

// schedulerArms returns the arms that can go on as the engine knows them.
func (r *run) schedulerArms(out *Outcome) []*trial.Arm {
	var arms []*trial.Arm
	for _, a := range out.runnable() {
		arms = append(arms, &trial.Arm{Name: a.Arm.Name, Setting: setting(a.Arm), Runner: armRunner{r, out, a.Arm}})
	}
	return arms
}

// setting is what the processes of an arm run under. Where the arm has none of
// its own, nothing of the Go runtime interferes with what is measured.
func setting(a *Arm) trial.Setting {
	if a.Setting != nil {
		return *a.Setting
	}
	return trial.Setting{GOGC: trial.Off, Env: []string{"GODEBUG=asyncpreemptoff=1", "GOMEMLIMIT=off"}}
}

// judge gives an arm up whose trial failed: it would fail again.
func (a *ArmResult) judge(s *trial.Sample) {
	if s.OK() {
		return
	}
	line := strings.TrimPrefix(s.Reason(), "folio: ")
	line = strings.TrimPrefix(line, a.Arm.Task.Experiment+" "+a.Arm.Name+": ")
	if s.ExitCode != nil && (*s.ExitCode == exitNotSupported || *s.ExitCode == exitNotHere) {
		a.Arm.NotRun, a.Arm.Missing = line, *s.ExitCode == exitNotSupported
		return
	}
	a.Failure = s.Failure
	if line != "" {
		a.Failure = line
		if s.ExitCode == nil {
			a.Failure = s.Failure + ": " + line
		}
	}
}

// failure is the error of an experiment in which arms failed.
func (o *Outcome) failure() error {
	var texts []string
	for _, a := range o.Failed() {
		why := a.Failure
		if why == "" {
			why = a.Arm.NotRun
		}
		texts = append(texts, a.Arm.Name+": "+why)
	}
	if len(texts) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", o.Experiment.Name, strings.Join(texts, "; "))
}

// guarded has changes put back also when this process is killed. It is called before the
// first trial, or the guard would be ended with what the trials leave behind.
func (r *run) guarded() error {
	if r.changer.Guarded() || len(r.Self) == 0 {
		return nil
	}
	c, err := settings.New(r.Self)
	if err == nil {
		r.changer = c
	}
	return err
}

// armRunner runs the trials of an arm for the scheduler.
type armRunner struct {
	*run
	out *Outcome
	arm *Arm
}

// Run makes the changes that an arm needs, runs it, and takes them back.
func (r armRunner) Run(ctx context.Context, s trial.Setting, _ trial.Request) (sample *trial.Sample, err error) {
	if len(r.arm.Changes) > 0 {
		if err := r.changer.Apply(r.arm.Changes); err != nil {
			return &trial.Sample{Failure: strings.ReplaceAll(err.Error(), "\n", "; ")}, nil
		}
		defer func() { err = errors.Join(err, r.changer.Restore()) }()
	}
	began := r.Now()
	sample, err = r.Runner(ctx, r.arm.Task, s)
	r.pace.took(r.out, r.Now().Sub(began))
	return sample, err
}
