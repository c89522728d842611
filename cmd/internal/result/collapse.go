package result

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/collapser"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Collapsing is what a result of folio collapse is made of: what it did, or would do.
type Collapsing struct {
	PID       int
	Command   []string
	Name      string // the kernel's
	GoVersion string
	Options   collapser.Options // with defaults filled in

	Plan    *collapser.Plan // of a dry run: nothing was done
	Outcome collapser.Outcome
	Before  collapser.State
	After   *collapser.State // nil if the process has ended
	Elapsed time.Duration    // of collapsing, waits included

	Ended       bool // the process did
	Interrupted bool
	Watched     bool // growth was followed
	Notes       *stat.Notes
}

// RunCollapse collapses the memory of a process, following its growth where watch is not 0; a
// dry run only plans. each is told what every pass did. The error is of what was asked for and
// could not be done; without a result nothing was.
func RunCollapse(ctx context.Context, s *inspect.System, c *collapser.Collapser, pid int, dryRun bool, watch time.Duration, each func(collapser.Outcome)) (*Collapsing, error) {
	r := &Collapsing{PID: pid, Options: c.Options(), Watched: watch > 0, Notes: &stat.Notes{}}
	p, err := s.Process(pid, inspect.Options{MinDensity: r.Options.MinDensity})
	if err != nil {
		return nil, err
	}
	r.Command, r.Name, r.GoVersion = p.Command, p.Name, p.GoVersion
	for _, text := range append(p.Hazards, p.Notes...) { // what works against huge pages
		r.Notes.Add(text)
	}
	if r.Before, err = c.State(ctx, inspect.FaultTime); err != nil {
		return nil, err
	}
	if dryRun {
		plan, err := c.Plan()
		if err != nil {
			return nil, err
		}
		r.Plan = &plan
		return r, nil
	}
	return r, r.carryOut(ctx, c, watch, each)
}

// carryOut collapses, and says in r what became of it.
func (r *Collapsing) carryOut(ctx context.Context, c *collapser.Collapser, watch time.Duration, each func(collapser.Outcome)) error {
	begin := time.Now()
	var err error
	if r.Watched {
		err = c.Watch(ctx, watch, func(o collapser.Outcome) {
			r.Outcome.Add(o)
			each(o)
		})
	} else {
		r.Outcome, err = c.Pass(ctx)
	}
	r.Elapsed = time.Since(begin)
	o := r.Outcome
	if o.Reason != nil {
		r.Notes.Add("refused: " + o.Reason.Error())
	}
	r.Interrupted = ctx.Err() != nil && errors.Is(err, ctx.Err())
	r.Ended = errors.Is(err, collapser.ErrEnded)
	if !r.Ended {
		// The faults of a moment later; an interrupt is not kept waiting.
		switch after, aerr := c.State(ctx, inspect.FaultTime); {
		case errors.Is(aerr, collapser.ErrEnded):
			r.Ended = true
		case aerr != nil:
			r.Notes.Add("how the process is now is not known: " + aerr.Error())
		default:
			r.After = &after
		}
	}
	switch {
	case r.Interrupted, r.Watched && r.Ended:
		return nil // that is how it ends
	case err == nil && len(o.Refused) > 0 && o.Collapsed == 0 && o.Already == 0:
		return fmt.Errorf("the kernel refused every window: %w", o.Reason)
	}
	return err
}

// A Collapse is what folio collapse did, or would do.
type Collapse struct {
	Header

	PID       int      `json:"pid"`
	Command   []string `json:"command" redact:"command"`
	Name      string   `json:"name" redact:"keep"` // the kernel's
	GoVersion *string  `json:"go_version" redact:"keep"`

	All        bool    `json:"all_anonymous"`
	MinDensity float64 `json:"min_density"`
	Budget     *uint64 `json:"budget_bytes"`
	Rate       *uint64 `json:"rate_bytes_per_second"`

	DryRun      bool `json:"dry_run"`
	Watched     bool `json:"watched"`
	Ended       bool `json:"process_ended"`
	Interrupted bool `json:"interrupted"`

	Windows  CollapseWindows `json:"windows"`
	Bytes    uint64          `json:"collapsed_bytes"`
	Filled   uint64          `json:"filled_bytes"`
	Elapsed  float64         `json:"elapsed_seconds"`
	InKernel float64         `json:"kernel_seconds"`
	Reason   *string         `json:"refused_reason" redact:"prose"`

	Before *CollapseState `json:"before"`
	After  *CollapseState `json:"after"`
	Notes  []string       `json:"notes" redact:"prose"`
}

// CollapseWindows says what became of the windows; in a dry run, what would.
type CollapseWindows struct {
	Collapsed  int            `json:"collapsed"`
	Already    int            `json:"already_huge"`
	Sparse     int            `json:"sparse"`
	OptedOut   int            `json:"opted_out"`
	OverBudget int            `json:"over_budget"`
	Released   int            `json:"released"`
	Deferred   int            `json:"deferred"`
	NotTried   int            `json:"not_tried"`
	Refused    map[string]int `json:"refused"`
}

// A CollapseState is how the process was.
type CollapseState struct {
	Resident uint64   `json:"resident_bytes"`
	Windows  *Windows `json:"windows"`
	Faults   *Faults  `json:"faults"`
}

func newState(s *collapser.State) *CollapseState {
	if s == nil {
		return nil
	}
	return &CollapseState{s.Resident, newWindows(s.Windows), newFaults(s.Faults)}
}

// GainsLittle says that too little is put on huge pages to save much time.
func (f *Collapse) GainsLittle() bool { return f.Bytes < inspect.LittleHeap }

// Line is the command that does what a dry run planned.
func (f *Collapse) Line() string {
	line := "sudo folio collapse"
	if f.All {
		line += " --all-anonymous"
	}
	if f.MinDensity != inspect.MinDensity {
		line += fmt.Sprintf(" --min-density %v", f.MinDensity)
	}
	if f.Budget != nil {
		line += " --max-size " + unit.Exact(*f.Budget)
	}
	if f.Rate == nil {
		line += " --max-rate off"
	} else if *f.Rate != collapser.DefaultRate {
		line += " --max-rate " + unit.Exact(*f.Rate)
	}
	return fmt.Sprintf("%s %d", line, f.PID)
}

// JSON returns the file's text.
func (f *Collapse) JSON() ([]byte, error) { return indented(f) }

// NewCollapse makes the result.
func NewCollapse(folio string, c *Collapsing) *Collapse {
	o := c.Outcome
	f := &Collapse{
		Header: NewHeader(CollapseSchema, KindCollapse, folio), Name: c.Name,
		PID: c.PID, Command: list(c.Command), GoVersion: text(c.GoVersion),
		All: c.Options.All, MinDensity: c.Options.MinDensity, Budget: bound(c.Options.Budget), Rate: bound(c.Options.Rate),
		DryRun: c.Plan != nil, Watched: c.Watched, Ended: c.Ended, Interrupted: c.Interrupted,
		Windows: CollapseWindows{o.Collapsed, o.Already, o.Sparse, o.OptedOut, o.OverBudget, o.Released, o.Deferred, o.NotTried, o.Refused},
		Bytes:   o.Bytes, Filled: o.Filled, Elapsed: c.Elapsed.Seconds(), InKernel: o.Spent.Seconds(),
		Before: newState(&c.Before), After: newState(c.After), Notes: list(c.Notes.Texts()),
	}
	if p := c.Plan; p != nil {
		f.Windows = CollapseWindows{Collapsed: len(p.Todo), Already: p.Already, Sparse: p.Sparse, OptedOut: p.OptedOut, OverBudget: p.OverBudget}
		f.Bytes, f.Filled = p.Bytes, p.Fill
	}
	if f.Windows.Refused == nil {
		f.Windows.Refused = map[string]int{}
	}
	if o.Reason != nil {
		f.Reason = text(o.Reason.Error())
	}
	return f
}

// bound returns nil for no bound.
func bound(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}
