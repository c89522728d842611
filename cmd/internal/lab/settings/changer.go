package settings

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/foliomem/folio/cmd/internal/base/guard"
)

// A keeper remembers how to take changes back in case that this process cannot:
// the guard, or nobody in tests.
type keeper interface {
	Keep(undo) error // returns when it is remembered
	Drop(undo) error // it was taken back
}

// A Changer makes changes and takes them back, the last one first.
// The zero value forgets them when the process is killed: see [New].
type Changer struct {
	mu     sync.Mutex
	keeper keeper
	undos  []undo
	guard  *guard.Guard[undo] // nil: there is none
}

// New returns a changer with a guard: a process that outlives this one, whatever ends it,
// and then takes back what was changed. command runs this program so that it calls
// [Main]. Call it before anything is started whose leftovers will be ended: the guard would be one.
func New(command []string) (*Changer, error) {
	g, err := guard.Start[undo](command)
	if err != nil {
		return nil, err
	}
	return &Changer{keeper: g, guard: g}, nil
}

// Main is the main function of the guard's processes: see [guard.Main].
func Main(command, args []string, in io.Reader, out io.Writer) error {
	return guard.Main[undo](command, args, in, out)
}

// Guarded says that there is a guard.
func (c *Changer) Guarded() bool { return c.guard != nil }

// Close takes all changes back, ends the guard and waits for its end.
func (c *Changer) Close() error {
	err := c.Restore()
	if c.guard != nil {
		err = errors.Join(err, c.guard.Close())
	}
	return err
}

// Apply makes changes, all or none.
func (c *Changer) Apply(changes []Change) error {
	for _, ch := range changes {
		if err := c.one(ch); err != nil {
			return errors.Join(err, c.Restore())
		}
	}
	return nil
}

func (c *Changer) one(ch Change) error {
	u, err := ch.undo()
	if err != nil {
		return err
	}
	if c.keeper != nil {
		if err := c.keeper.Keep(u); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.undos = append(c.undos, u)
	c.mu.Unlock()
	return ch.apply() // what it did half is taken back, too
}

// Restore takes all changes back. What fails is in the error, and does not keep
// the rest from being taken back.
func (c *Changer) Restore() error {
	c.mu.Lock()
	undos := c.undos
	c.undos = nil
	c.mu.Unlock()
	var errs []error
	for _, u := range slices.Backward(undos) {
		if err := u.Undo(); err != nil {
			errs = append(errs, fmt.Errorf("put back %s: %w", u.Path, err))
			continue // the guard will try again
		}
		if c.keeper != nil {
			errs = append(errs, c.keeper.Drop(u))
		}
	}
	return errors.Join(errs...)
}
