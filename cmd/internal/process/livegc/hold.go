package livegc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/guard"
)

// SetAll sets all as planned, or none, and says what it set. g is told before each; nil for what
// stays.
func SetAll(all []*Process, g *guard.Guard[Undo], say func(string) error) error {
	for i, p := range all {
		var err error
		if g != nil {
			err = g.Keep(p.Undo)
		}
		if err == nil {
			err = p.Apply()
		}
		if err != nil {
			for _, before := range all[:i+1] {
				err = errors.Join(err, takeBack(before, g))
			}
			return fmt.Errorf("set: %w", err)
		}
	}
	for _, p := range all {
		b, n := p.Undo.Before, p.Undo.After
		if err := say(fmt.Sprintf("process %d (%s): GOGC %s -> %s, GOMEMLIMIT %s -> %s", p.PID, p.Name, GOGC(b.Percent), GOGC(n.Percent),
			GOMEMLIMIT(b.Limit), GOMEMLIMIT(n.Limit))); err != nil {
			return err
		}
	}
	return nil
}

// takeBack takes back what was set in a process. The guard need not know that it is done: to
// do it twice does no harm.
func takeBack(p *Process, g *guard.Guard[Undo]) error {
	if err := p.Undo.Undo(); err != nil {
		return err
	}
	if g != nil {
		_ = g.Drop(p.Undo)
	}
	return nil
}

// Hold keeps the settings for a while, and puts back what was before. What a program has set
// itself meanwhile is left to it.
func Hold(ctx context.Context, d time.Duration, all []*Process, g *guard.Guard[Undo], say func(string) error) (err error) {
	end := time.After(d)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	left := slices.Clone(all)
	for waiting := true; waiting && len(left) > 0; {
		select {
		case <-ctx.Done():
			waiting = false
		case <-end:
			waiting = false
		case <-look.C:
			left = slices.DeleteFunc(left, func(p *Process) bool {
				now, kept, lost := p.Kept()
				switch {
				case lost != nil:
					err = errors.Join(err, say(fmt.Sprintf("process %d (%s) has ended", p.PID, p.Name)))
				case !kept:
					err = errors.Join(err, say(fmt.Sprintf("process %d (%s): the program has set GOGC %s, GOMEMLIMIT %s itself: it is left with that", p.PID, p.Name,
						GOGC(now.Percent), GOMEMLIMIT(now.Limit))))
				}
				return lost != nil || !kept
			})
		}
	}
	for _, p := range all {
		if failed := takeBack(p, g); failed != nil {
			err = errors.Join(err, fmt.Errorf("set: put back what was before: %w", failed))
		} else if slices.Contains(left, p) {
			err = errors.Join(err, say(fmt.Sprintf("process %d (%s): GOGC %s, GOMEMLIMIT %s again", p.PID, p.Name,
				GOGC(p.Undo.Before.Percent), GOMEMLIMIT(p.Undo.Before.Limit))))
		}
	}
	_ = g.Close() // if it was killed, all is done without it
	return err
}
