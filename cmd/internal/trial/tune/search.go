package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// Options are the bounds of a search. Zero fields take the defaults named.
type Options struct {
	Base       trial.Setting // what every arm has besides what is searched
	Env        trial.Setting // variables of Go's runtime that the environment sets, for arms that do not
	Metric     *metric.Spec  // default: wall time, or ns/op when the output is of Go benchmarks
	Limits     Limits        // settings that break them in any run are out
	SafeMemory uint64        // no arm may hold more, ever; required
	// Limit is the memory limit that every run has, of its cgroup: an arm that passes it is
	// killed, so those that grow get a GOMEMLIMIT within it. 0 for none.
	Limit   uint64
	Budget  time.Duration // default 5 minutes
	Request trial.Request // what its runs ask for, those that are to; its timeout is 0 for none but what the budget and the warm-up say
	// SampleWarmup samples the CPU time of the warm-up too, even if Request samples none: the
	// kernel then tells of every program that the command starts.
	SampleWarmup bool
	// MaxRounds is how many rounds the final has at most; 0 for 10, and more while
	// the answer is inconclusive.
	MaxRounds int
	Try       []trial.Setting // further variables of Go's runtime, each to try with the best setting
	THPAlways bool            // the system gives every program huge pages: try without
	Collapse  bool            // thp=collapse is possible here
	FixedTHP  bool            // huge pages stay as Base has them
	Heap      bool            // thp=heap is possible: the program can have its heap on huge pages
	Package   string          // of a program that folio built: what recommendations name; else ""
	// ReadGC says that the GC of Go programs is read: a sample that says nothing of it is then of
	// a command of which no process was a Go program.
	ReadGC     bool
	Exhaustive bool   // no race: every arm of the space is in the final, whatever the budget
	Builds     Builds // what else the program may be built as
	// PID is the process whose settings are searched as it runs; 0 for a command.
	PID int
	// Only are the settings to compare with Base, in place of a space: none is refined, and the
	// final has few.
	Only []trial.Setting
	Seed uint64

	settings []trial.Setting // of tests: instead of the coarse arms of the space

	// Now is the clock; default time.Now.
	Now func() time.Time
	// Progress is told before and after every trial.
	Progress func(Progress)
	// Partial is shown the result so far after every round.
	Partial func(*Result)
}

// A Result is what a search found.
type Result struct {
	Arms        []*Arm // in the order in which they were first tried; [0] is the default
	Objective   *metric.Spec
	Benchmarks  []string // keys of the benchmarks behind ns/op
	Warmup      *trial.Sample
	Rounds      int
	RaceRounds  int // rounds before the final: Samples of later rounds are the final's
	Trials      int
	Seed        uint64
	Elapsed     time.Duration
	Stage       Stage  // in which it ended
	Ended       string // why the search ended, for the report
	Interrupted bool
	Notes       []string
	Answer      Answer
	Package     string // Options.Package
	PID         int    // Options.PID
	Inert       string // what changes nothing about the program, in a line; "" else

	untried int    // settings that matter and were not tried, see missed
	limits  Limits // Options.Limits
	bounded bool   // a limit of memory suggests GOMEMLIMIT
	obj     *objective
	steps   []variant.Build  // Options.Builds.Steps
	places  Places           // Options.Builds.Places
	always  bool             // Options.THPAlways
	noGo    bool             // no Go program was seen
	about   map[*Arm]float64 // cost against the default's, as the race saw it
}

// Search runs the search. On an error or an interrupt the result holds what was
// measured until then; it is nil only if not even the default ran.
func Search(ctx context.Context, runner trial.Runner, opts Options) (*Result, error) {
	opts.setDefaults()
	s := &search{
		opts: opts, start: opts.Now(), stage: InWarmup, space: &space{},
		took: make(map[*trial.Arm]time.Duration), trials: make(map[*trial.Arm]int),
		res: &Result{Seed: opts.Seed, limits: opts.Limits, Package: opts.Package, PID: opts.PID, always: opts.THPAlways,
			steps: opts.Builds.Steps, places: opts.Builds.Places, Answer: Answer{State: TooLittle}},
	}
	s.sched = trial.NewScheduler(timed{runner, s}, opts.Seed)
	s.sched.Request, s.sched.Observe, s.sched.Repeats = s.request, s.observe, trial.LateRepeats
	err := s.run(ctx)
	if s.res.Warmup == nil {
		return nil, err
	}
	s.finish(ctx, &err)
	return s.res, err
}

func (o *Options) setDefaults() {
	if o.Budget <= 0 {
		o.Budget = 5 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

type search struct {
	opts  Options
	sched *trial.Scheduler
	start time.Time
	space *space
	obj   *objective
	res   *Result

	began  time.Time                    // of the running trial
	took   map[*trial.Arm]time.Duration // all trials of each arm together
	trials map[*trial.Arm]int
	counts int
	late   int // runs in which the load generator was, those that were repeated included

	stage     Stage
	aim       int             // rounds of the final until the next look
	running   int             // arms in the round
	sampled   bool            // the round is sampled
	ahead     *Arm            // the best so far
	direct    bool            // no race: all arms are in the final
	refine    int             // how often the neighborhood of the best was filled in
	raced     int             // rounds before the race
	untried   []trial.Setting // that the budget has no room for, best first
	explained int             // how often the final got a further arm, see unexplained
	spent     float64         // of alpha, on looks
	stands    standing
	// GOGC, or GOMEMLIMIT, does nothing for the program.
	inertGOGC, inertLimit bool
}

func (s *search) def() *Arm { return s.res.Arms[0] }

func (s *search) run(ctx context.Context) error {
	def := s.add(s.opts.Base)
	warm, err := s.sched.Warmup(ctx, []*trial.Arm{def.Arm})
	if err != nil {
		return err
	}
	s.res.Warmup = warm[0]
	if err := s.begin(warm[0]); err != nil {
		return err
	}
	if len(s.space.coarse()) == 1 {
		return s.alone(ctx)
	}
	if s.opts.Exhaustive {
		return s.exhaust(ctx)
	}
	if len(s.opts.Builds.Steps) > 0 {
		if err := s.builds(ctx); err != nil {
			return err
		}
	}
	if !s.direct {
		if s.direct, err = s.admit(); err != nil {
			return err
		}
	}
	s.raced = s.sched.Rounds()
	if !s.direct {
		s.stage = InRace
		if err := s.race(ctx); err != nil && !errors.Is(err, errBudget) {
			return err
		}
	}
	if !slices.ContainsFunc(s.res.Arms[1:], alive) {
		return nil // finish says so
	}
	return s.final(ctx)
}

// alone measures the default, to which there is no alternative: once, or until it fails for
// good.
func (s *search) alone(ctx context.Context) error {
	def := s.def()
	for len(reading(s.obj.raw).values(def.Samples)) == 0 {
		err := s.round(ctx, []*Arm{def}, false)
		if errors.Is(err, errBudget) && len(def.Samples) == 0 {
			return errors.New(s.res.Inert)
		}
		if err != nil {
			return err
		}
		s.res.judge(def)
		if err := s.checkDefault(); err != nil {
			return err
		}
	}
	return nil
}

// begin learns from the warm-up what to search and how.
func (s *search) begin(warm *trial.Sample) error {
	if !warm.OK() {
		return Failure(warm, s.opts.Limit)
	}
	spec := s.opts.Metric
	if spec == nil {
		spec = &metric.Spec{Name: metric.Wall}
		if len(metric.BenchKeys(warm.Metrics)) > 0 {
			spec = &metric.Spec{Name: metric.Bench}
		}
	}
	s.obj = &objective{spec: spec, keys: metric.BenchKeys(warm.Metrics)}
	s.res.Objective, s.res.obj, s.res.Benchmarks = spec, s.obj, s.obj.keys
	s.space = &space{fixed: slices.Concat(s.opts.settings, s.opts.Only), base: s.opts.Base, env: s.opts.Env, try: s.opts.Try, tail: spec.Tail(), heap: heapOf(warm)}
	s.space.top = s.opts.SafeMemory / 10 * 9
	if l := s.opts.Limit; l > 0 {
		// The limit covers more than the runtime's does: stacks of threads, the program's
		// file, page cache, the kernel's own.
		s.space.top = min(s.opts.SafeMemory, l) / 10 * 9
		if f, ok := warm.Held.Fit(l); ok && f.Most > 0 {
			// tmpfs, other programs and memory outside the runtime are charged too.
			s.space.top = min(s.space.top, f.Most)
		}
		s.space.guard = floorLimit(s.space.top)
	}
	if rss := s.opts.Limits.RSS; rss > 0 {
		// The runtime's limit does not cover all that a process holds.
		s.space.guard = floorLimit(rss / 10 * 9)
		s.space.top, s.space.tight = s.space.guard, true
	}
	s.res.bounded = s.space.guard > 0
	s.space.top = floorLimit(s.space.top)
	if text := tooShort(spec, warm); text != "" {
		s.note(text)
	}
	if s.opts.ReadGC && warm.GCCounted == "" {
		s.noGo()
	}
	if s.opts.FixedTHP {
		return nil
	}
	s.space.thpOff = s.opts.THPAlways || (warm.HugePeak != nil && *warm.HugePeak > 0)
	if s.opts.Base.THP == trial.THPSystem {
		s.space.always = s.opts.THPAlways
		if s.opts.Heap && !s.space.noGo {
			why := ""
			if s.opts.Package == "" {
				why = noGainByHuge(warm)
			}
			if s.space.huge = why == ""; !s.space.huge {
				s.note("thp=heap was not tried: " + why)
			}
		}
	}
	s.space.collapse = s.opts.Collapse && !s.space.noGo && s.space.heap >= largeHeap
	return nil
}

// beginWith names the GOMEMLIMIT by which a default that was killed fits into its cgroup; "" where
// that is not known.
func beginWith(s *trial.Sample, limit uint64) string {
	if limit == 0 {
		return ""
	}
	fit, ok := s.Fit(limit)
	switch {
	case !ok:
		return ""
	case fit.Most == 0:
		return ": " + strings.TrimSuffix(fit.Reason(), ".")
	}
	return fmt.Sprintf(", or a default that fits: %s folio tune ... (%s)", fit.Setting(), strings.TrimSuffix(fit.Reason(), "."))
}

// Failure is the error for a command that fails with its default settings. limit is that of its
// cgroup, 0 for none.
func Failure(s *trial.Sample, limit uint64) error {
	if s.Late() {
		return errors.New(s.Failure)
	}
	when := ""
	if s.Round > 0 {
		when = ", though not the first time"
	}
	line := ""
	if l := s.Reason(); l != "" {
		line = ": " + l
	}
	if line == "" && strings.HasPrefix(s.Failure, "exit code ") {
		line = "; --show-output shows what it prints"
	}
	line += s.IgnoreExit()
	if s.OutOfMemory() {
		line += "; give a larger --cgroup-memory" + beginWith(s, limit)
	}
	return fmt.Errorf("the command failed with its default settings%s: %s%s", when, s.Failure, line)
}

// exhaust measures the whole space, as a final of all.
func (s *search) exhaust(ctx context.Context) error {
	for _, b := range variant.Combinations(s.opts.Builds.Steps) {
		base := s.opts.Base
		base.Build = b
		if !b.IsZero() {
			if a, err := s.enter(ctx, base); err != nil {
				return err
			} else if !alive(a) {
				continue
			}
		}
		for _, c := range s.space.grid() {
			c.Build = b
			s.add(c)
		}
	}
	if s.opts.MaxRounds == 0 {
		s.opts.MaxRounds = finalRounds
	}
	if err := s.final(ctx); err != nil {
		return err
	}
	s.res.Ended = "every setting was measured"
	return nil
}

// standing returns how the arms compare so far.
func (s *search) standing() standing {
	if s.stands.at != s.counts || s.stands.score == nil {
		s.stands = s.obj.standing(s.res.Arms)
		s.stands.at = s.counts
	}
	return s.stands
}

// count brings the result's counts up to date.
func (s *search) count() {
	r := s.res
	r.Rounds, r.Trials, r.Elapsed, r.Stage = s.sched.Rounds(), s.counts, s.opts.Now().Sub(s.start), s.stage
}

func (s *search) partial() {
	if s.opts.Progress != nil {
		s.ahead = s.standing().leader(s.res.Arms, fewRounds, alive)
	}
	if s.opts.Partial != nil {
		s.count()
		s.opts.Partial(s.res)
	}
}

// checkDefault ends the search of a program that does not work by itself.
func (s *search) checkDefault() error {
	if def := s.def(); def.Status == Failed {
		return Failure(def.Samples[len(def.Samples)-1], s.opts.Limit)
	}
	return nil
}

// add enters an arm, once.
func (s *search) add(set trial.Setting) *Arm {
	for _, a := range s.res.Arms {
		if s.space.effect(a.Setting).String() == s.space.effect(set).String() {
			return a
		}
	}
	a := &Arm{Arm: trial.NewArm(set), Status: Racing}
	if len(s.res.Arms) == 0 {
		a.Name = "default"
	}
	s.res.Arms = append(s.res.Arms, a)
	return a
}

func (s *search) note(text string) {
	if !slices.Contains(s.res.Notes, text) {
		s.res.Notes = append(s.res.Notes, text)
	}
}

// finish draws the conclusions from whatever was measured.
func (s *search) finish(ctx context.Context, err *error) {
	r := s.res
	s.count()
	if *err != nil && ctx.Err() != nil && errors.Is(*err, ctx.Err()) {
		r.Interrupted, r.Ended, *err = true, fmt.Sprintf("interrupted in round %d of the %s", s.stageRound(), s.stage), nil
	}
	// Arms that were entered but never ran tell nothing.
	r.Arms = append(r.Arms[:1], slices.DeleteFunc(r.Arms[1:], func(a *Arm) bool { return len(a.Samples) == 0 && !a.Unbuilt })...)
	if s.obj == nil {
		return
	}
	switch compared := slices.ContainsFunc(r.Arms[1:], alive); {
	case !compared && *err == nil && !r.Interrupted:
		r.Ended = "no setting is left to compare with the default" + r.whyNone()
		if r.Inert == "" && r.allowed(s.def()) && slices.ContainsFunc(r.Arms, func(a *Arm) bool { return a.Status == Same }) {
			r.Inert = "every setting that the program ran under does what the default does"
		}
		if r.Inert != "" {
			r.Ended = "nothing to compare"
			r.Notes = slices.DeleteFunc(r.Notes, func(n string) bool { return n == r.Inert }) // it is the answer
			r.Answer = Answer{State: NoEffect, Inert: r.Inert, Recommended: []Recommendation{{Goal: Fastest, Arm: s.def()}}}
		}
	case s.stage == InFinal:
		if r.Interrupted || *err != nil { // before the look that was planned
			s.conclude(s.share(true))
		}
		s.estimate()
	}
	if *err == nil && !r.Interrupted && r.Answer.State == TooLittle {
		*err = s.incomparable(1)
	}
	s.sayUntried()
	s.sayFailures()
	if why := r.broken(s.def()); why != "" && alive(s.def()) && r.unlimited() == nil {
		s.note("the default is not recommended, and only compared with: " + why)
	}
	if *err == nil && !r.Interrupted {
		if *err = r.unlimited(); *err != nil {
			r.Ended = (*err).Error()
		}
	}
}

// whyNone says why the settings that were tried are out, where one did not even work.
func (r *Result) whyNone() string {
	n, why := 0, ""
	for _, a := range r.Arms[1:] {
		if a.Status == Failed || a.Status == OverLimit {
			n, why = n+1, a.Name+": "+a.Reason
		}
	}
	switch {
	case n == 0:
		return ""
	case n == 1:
		return ": " + why
	}
	return fmt.Sprintf(": %d failed or broke a limit, for example %s", n, why)
}

// missed is how many of the settings that were not tried may do something that no tried one
// does: a level of a variable that changes nothing does not.
func (s *search) missed() (n int) {
	for _, set := range s.untried {
		inert := s.inertGOGC
		if set.GOGC == trial.Off {
			inert = s.inertLimit
		}
		like := func(a *Arm) bool { return len(a.Samples) > 0 && sameBut(a, &Arm{Arm: &trial.Arm{Setting: set}}) }
		if !inert || !slices.ContainsFunc(s.res.Arms, like) {
			n++
		}
	}
	return n
}

// stageRound is the round of the stage that the search is in.
func (s *search) stageRound() int { return s.sched.Rounds() - s.res.RaceRounds }

// sayFailures notes arms whose program failed, always or at times.
func (s *search) sayFailures() {
	if s.opts.PID != 0 {
		return // blocks say why they were left
	}
	for _, a := range s.res.Arms {
		failed, why := 0, ""
		for _, sm := range a.Samples {
			if !sm.OK() {
				failed, why = failed+1, sm.Failure
			}
		}
		if failed > 0 {
			s.note(fmt.Sprintf("%s: %d of %d runs failed (%s) and do not count", a.Name, failed, len(a.Samples), why))
		}
	}
}
