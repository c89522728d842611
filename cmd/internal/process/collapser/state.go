package collapser

import (
	"context"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
)

// A State is how a process is at a moment.
type State struct {
	Resident uint64          // of the process
	Windows  inspect.Windows // of what is collapsed
	Faults   *inspect.Faults // nil if they were not counted
}

// State looks at the process; its page faults are counted for a while, 0 for not.
func (c *Collapser) State(ctx context.Context, faults time.Duration) (State, error) {
	var s State
	begin := c.now()
	minor, major, err := c.kernel.faults()
	if err != nil {
		return s, ended(err)
	}
	windows, cut, err := c.kernel.windows()
	if err != nil {
		return s, ended(err)
	}
	s.Windows = inspect.Summarize(windows, cut, c.options.MinDensity, c.noHuge)
	if s.Resident, err = c.kernel.resident(); err != nil {
		return s, ended(err)
	}
	if faults <= 0 || c.sleep(ctx, faults-c.now().Sub(begin)) != nil {
		return s, nil // interrupted: the rest is known
	}
	minor2, major2, err := c.kernel.faults()
	if err != nil {
		return s, ended(err)
	}
	s.Faults = &inspect.Faults{Over: c.now().Sub(begin), Minor: minor2 - minor, Major: major2 - major}
	return s, nil
}

// lookShare is the reciprocal of the part of a processor that looking for growth takes
// at most.
const lookShare = 50

// Watch makes a pass every so often, and tells each what it did, until ctx ends or
// the process does: then the error is ErrEnded.
func (c *Collapser) Watch(ctx context.Context, every time.Duration, each func(Outcome)) error {
	for {
		begin := c.now()
		out, err := c.Pass(ctx)
		if each != nil {
			each(out)
		}
		if err != nil {
			return err
		}
		looking := c.now().Sub(begin)
		if out.Collapsed > 0 {
			looking = 0 // most of it was collapsing
		}
		if err := c.sleep(ctx, max(every, lookShare*looking)); err != nil {
			return err
		}
	}
}
