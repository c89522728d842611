package livegc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// SetAll makes the planned changes to all processes, or to none. g is told of each before it
// is made; it is nil for changes that stay.
func SetAll(all []*Process, g *guard.Guard[Undo]) error {
	for i, p := range all {
		var err error
		if g != nil {
			err = p.Keep(g)
		}
		if err == nil {
			err = p.Apply()
		}
		if err != nil {
			for _, before := range all[:i+1] {
				err = errors.Join(err, takeBack(before, g))
			}
			return err
		}
	}
	return nil
}

// takeBack takes back what was set in a process. If the guard does so again, that does no
// harm.
func takeBack(p *Process, g *guard.Guard[Undo]) error {
	if err := p.Undo.Undo(); err != nil {
		return p.failed(fmt.Errorf("restore: %w", err))
	}
	if g != nil {
		_ = g.Drop(p.Undo)
	}
	return nil
}

// Hold waits for d or until ctx is done, and restores the settings. A process whose program
// changes its settings meanwhile keeps those.
func Hold(ctx context.Context, d time.Duration, all []*Process, g *guard.Guard[Undo], say func(format string, args ...any) error) (err error) {
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
				case errors.Is(lost, goruntime.ErrGone):
					err = errors.Join(err, say("process %d (%s) has ended", p.PID, p.Name))
					return true
				case lost != nil || kept:
					return false // a setting is seen at the next look
				}
				err = errors.Join(err, say("process %d (%s): the program has set GOGC=%s, GOMEMLIMIT=%s; its settings stay", p.PID, p.Name,
					GOGC(now.Percent), GOMEMLIMIT(now.Limit)))
				return true
			})
		}
	}
	for _, p := range all {
		failed := takeBack(p, g)
		if err = errors.Join(err, failed); failed != nil || !slices.Contains(left, p) {
			continue
		}
		if now, _, lost := p.Kept(); lost == nil {
			err = errors.Join(err, say("process %d (%s): restored GOGC=%s, GOMEMLIMIT=%s", p.PID, p.Name, GOGC(now.Percent), GOMEMLIMIT(now.Limit)))
		}
	}
	_ = g.Close() // if it was killed, all is done without it
	return err
}
