package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/trial"
)

// Options are the bounds of a search. Zero fields take the defaults named.
type Options struct {
	Base       trial.Setting // what every arm has besides what is searched
	Metric     *metric.Spec  // default: wall time, or ns/op when the output is of Go benchmarks
	MaxMemory  uint64        // --mem: the bound of the goal "best within"; 0 for none
	SafeMemory uint64        // no arm may hold more, ever; required
	Budget     time.Duration // default 5 minutes
	MaxRounds  int           // most rounds an arm gets; default 10
	GOMAXPROCS []int         // further values to try with the best setting
	THPAlways  bool          // the system gives every program huge pages: try without
	Collapse   bool          // thp=collapse is possible here
	Advise     bool          // thp=advise is possible: the program was built for it
	Package    string        // of a program that folio built: what recommendations name; else ""
	Exhaustive bool          // no race: every arm of the space gets MaxRounds rounds
	Seed       uint64

	// Now is the clock; default time.Now.
	Now func() time.Time
	// Bound is told the time after which a trial is beyond hope.
	Bound func(time.Duration)
	// Progress is told before and after every trial; the warm-up is in round 0.
	Progress func(Progress)
	// Partial is shown the result so far after every round.
	Partial func(*Result)
}

// Progress is what is known while the search runs.
type Progress struct {
	Round, Trials int
	Arm           *Arm
	Sample        *trial.Sample // nil: the trial starts
	Racing        int           // arms in the race
	Best          *Arm          // nil at first
	Left          time.Duration // at most
}

// A Result is what a search found.
type Result struct {
	Arms        []*Arm // in the order in which they were first tried; [0] is the default
	Objective   *metric.Spec
	Benchmarks  []string // keys of the benchmarks behind ns/op
	Warmup      *trial.Sample
	Rounds      int
	Trials      int
	Seed        uint64
	Elapsed     time.Duration
	Ended       string // why the search ended, for the report
	Interrupted bool
	Notes       []string
	Recommended []Recommendation
	MaxMemory   uint64
	Package     string // Options.Package

	obj    *objective
	always bool // Options.THPAlways
}

// Search runs the search. On an error or an interrupt the result holds what was
// measured until then; it is nil only if not even the default ran.
func Search(ctx context.Context, runner trial.Runner, opts Options) (*Result, error) {
	opts.setDefaults()
	s := &search{
		opts: opts, sched: trial.NewScheduler(runner, opts.Seed), start: opts.Now(),
		took: make(map[*trial.Arm]time.Duration), trials: make(map[*trial.Arm]int),
		res: &Result{Seed: opts.Seed, MaxMemory: opts.MaxMemory, Package: opts.Package, always: opts.THPAlways},
	}
	s.sched.Observe = s.observe
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
	if o.MaxRounds <= 0 {
		o.MaxRounds = 10
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

	began   time.Time                    // of the running trial
	took    map[*trial.Arm]time.Duration // all trials of each arm together
	trials  map[*trial.Arm]int
	counts  int
	refine  int             // how often the neighbourhood of the best was filled in
	waiting []trial.Setting // coarse arms that the budget has no room for yet
}

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
	if s.opts.Exhaustive {
		return s.exhaust(ctx)
	}
	return s.race(ctx, def)
}

// begin learns from the warm-up what to search and how.
func (s *search) begin(warm *trial.Sample) error {
	if !warm.OK() {
		return failure(warm)
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
	if s.opts.Bound != nil {
		s.opts.Bound(6*time.Duration(warm.Wall*float64(time.Second)) + 2*time.Second)
	}
	s.space = &space{base: s.opts.Base, procs: s.opts.GOMAXPROCS, heap: heapOf(warm)}
	s.space.top = s.opts.SafeMemory / 10 * 9
	if s.opts.MaxMemory > 0 {
		// The runtime's limit does not cover all that a process holds.
		s.space.guard = floorLimit(s.opts.MaxMemory / 10 * 9)
		s.space.top = s.space.guard
	}
	s.space.top = floorLimit(s.space.top)
	s.space.thpOff = s.opts.THPAlways || (warm.HugePeak != nil && *warm.HugePeak > 0)
	if s.opts.Base.THP == trial.THPSystem {
		s.space.advise, s.space.always = s.opts.Advise, s.opts.THPAlways
	}
	if !s.space.thpOff && !s.opts.Advise {
		s.note("thp=off was not tried: the program has no huge pages on this system, so there is nothing to turn off")
	}
	s.space.collapse = s.opts.Collapse && s.space.heap >= largeHeap
	return nil
}

// largeHeap is the heap from which on huge pages are worth a try: smaller ones gain
// nothing.
const largeHeap = 256 << 20

// heapOf estimates the heap that the limits are laid around.
func heapOf(s *trial.Sample) uint64 {
	switch {
	case s.HeapPeak != nil:
		return *s.HeapPeak
	case s.PeakRSS != nil:
		return *s.PeakRSS
	}
	return minLimit
}

// failure is the error for a command that does not even work as it is.
func failure(s *trial.Sample) error {
	when := "as it is, before any setting was tried"
	if s.Round > 0 {
		when = "under its default setting, though not the first time"
	}
	line := ""
	if l := s.LastLine(); l != "" {
		line = ": " + l
	}
	return fmt.Errorf("the command failed %s: %s%s", when, s.Failure, line)
}

func (s *search) race(ctx context.Context, def *Arm) error {
	s.waiting = s.space.coarse()
	defer s.sayWaiting()
	for {
		s.admit()
		arms := s.affordable(s.next(def))
		if len(arms) == 0 {
			return nil // Ended says why
		}
		if err := s.sched.Round(ctx, plain(arms)); err != nil {
			return err
		}
		s.obj.judge(s.res.Arms, def, s.opts.MaxMemory)
		s.partial()
		if err := s.checkDefault(def); err != nil {
			return err
		}
		if s.widen(def) {
			continue
		}
		if s.obj.settled(s.res.Arms, def, s.opts.MaxRounds) {
			s.res.Ended = "settled"
			return nil
		}
		if s.left() <= 0 {
			s.res.Ended = budgetSpent
			return nil
		}
	}
}

const budgetSpent = "the time budget is spent"

// next returns the arms of the next round: those in the race that have not had
// all rounds, and the default and the leader to compare them with.
func (s *search) next(def *Arm) []*Arm {
	open := s.racing()
	if len(open) == 0 || len(open) == 1 && open[0] == def && len(def.Samples) >= fullRounds {
		s.res.Ended = "no setting in the race needs more rounds"
		return nil
	}
	for _, a := range []*Arm{def, leader(s.res.Arms, s.obj.scores(s.res.Arms), fewRounds, alive)} {
		if a != nil && !slices.Contains(open, a) {
			open = append(open, a)
		}
	}
	return open
}

// exhaust measures the whole space.
func (s *search) exhaust(ctx context.Context) error {
	for _, c := range s.space.grid() {
		s.add(c)
	}
	for range s.opts.MaxRounds {
		if err := s.sched.Round(ctx, plain(s.res.Arms)); err != nil {
			return err
		}
		s.partial()
	}
	s.res.Ended = "every arm was measured"
	return nil
}

func (s *search) partial() {
	if s.opts.Partial != nil {
		r := s.res
		r.Rounds, r.Trials, r.Elapsed = s.sched.Rounds(), s.counts, s.opts.Now().Sub(s.start)
		s.opts.Partial(r)
	}
}

// checkDefault ends the search of a program that does not work by itself.
func (s *search) checkDefault(def *Arm) error {
	if def.Status == Failed {
		return failure(def.Samples[len(def.Samples)-1])
	}
	return nil
}

// add enters an arm, once.
func (s *search) add(set trial.Setting) *Arm {
	for _, a := range s.res.Arms {
		if a.Setting.String() == set.String() {
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

// widen fills in the neighbourhood of the best after rounds three and six, and
// crosses the best with the further dimensions. It reports whether arms joined.
func (s *search) widen(def *Arm) bool {
	if s.refine >= 2 || s.sched.Rounds() < 3*(s.refine+1) {
		return false
	}
	s.refine++
	before := len(s.res.Arms)
	scores := s.obj.scores(s.res.Arms)
	best := leader(s.res.Arms, scores, fewRounds, alive)
	if best == nil {
		return false
	}
	around := []*Arm{best}
	// The cheapest of the nearly best, and the best that fits, are answers too. And
	// without huge pages the best level may be another.
	for _, a := range []*Arm{
		cheapestWithin(s.res.Arms, scores, best, band),
		leader(s.res.Arms, scores, fewRounds, func(a *Arm) bool {
			return alive(a) && s.opts.MaxMemory > 0 && mostMemory(a) <= float64(s.opts.MaxMemory)
		}),
		leader(s.res.Arms, scores, fewRounds, func(a *Arm) bool {
			return s.space.advise && a.racing() && a != def && a.Setting.THP == trial.THPSystem
		}),
	} {
		if a != nil && !slices.Contains(around, a) {
			around = append(around, a)
		}
	}
	if s.refine == 1 && best != def && !measurable(s.obj, best, def) {
		around = nil // nothing beats the default yet: no neighbourhood is worth it
	}
	for _, a := range around {
		for _, c := range s.space.around(a.Setting) {
			s.add(c)
		}
	}
	if s.refine == 1 {
		for _, c := range s.space.crosses(best.Setting) {
			s.add(c)
		}
	} else if s.space.advise {
		for _, c := range s.space.other(best.Setting) { // the best may be another one by now
			s.add(c)
		}
	}
	return len(s.res.Arms) > before
}

// measurable says whether a is faster than b in every round so far.
func measurable(o *objective, a, b *Arm) bool {
	r := o.against(a, b)
	return r.N > 0 && r.Hi < 1
}

func (s *search) racing() []*Arm {
	var out []*Arm
	for _, a := range s.res.Arms {
		if a.racing() && len(a.Samples) < s.opts.MaxRounds {
			out = append(out, a)
		}
	}
	return out
}

func (s *search) note(text string) {
	if !slices.Contains(s.res.Notes, text) {
		s.res.Notes = append(s.res.Notes, text)
	}
}

// finish draws the conclusions from whatever was measured.
func (s *search) finish(ctx context.Context, err *error) {
	r := s.res
	r.Rounds, r.Trials, r.Elapsed = s.sched.Rounds(), s.counts, s.opts.Now().Sub(s.start)
	if *err != nil && ctx.Err() != nil && errors.Is(*err, ctx.Err()) {
		r.Interrupted, r.Ended, *err = true, "interrupted", nil
	}
	// Arms that were entered but never ran tell nothing.
	r.Arms = append(r.Arms[:1], slices.DeleteFunc(r.Arms[1:], func(a *Arm) bool { return len(a.Samples) == 0 })...)
	if s.obj == nil {
		return
	}
	s.sayFailures()
	s.sayNoEffect()
	r.recommend()
	if *err == nil && !r.Interrupted {
		*err = r.unfit()
	}
}

// sayFailures notes arms whose program failed, always or at times.
func (s *search) sayFailures() {
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

// sayNoEffect notes a program that sets its own GC percentage: its collections
// do not follow GOGC.
func (s *search) sayNoEffect() {
	const few = 4
	cycles := make(map[string]float64)
	for _, a := range s.res.Arms {
		if a.Setting.MemLimit == 0 {
			if v := trial.FigureOf("gc_cycles").Values(a.Samples); len(v) > 0 {
				cycles[a.Setting.GOGC] = v[len(v)/2]
			}
		}
	}
	low, okLow := cycles[strconv.Itoa(50)]
	high, okHigh := cycles[strconv.Itoa(800)]
	if okLow && okHigh && low >= few && high > 0.9*low {
		s.note("GOGC changed nothing about how often the program collects: it probably calls debug.SetGCPercent itself")
	}
}

// plain returns the arms as the scheduler knows them.
func plain(arms []*Arm) []*trial.Arm {
	out := make([]*trial.Arm, len(arms))
	for i, a := range arms {
		out[i] = a.Arm
	}
	return out
}
