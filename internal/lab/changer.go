package lab

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A keeper remembers how to take changes back in case that this process cannot:
// the guard, or nobody in tests.
type keeper interface {
	keep(undo) error // returns when it is remembered
	drop(undo) error // it was taken back
}

// A changer makes changes and takes them back, the last one first.
type changer struct {
	mu     sync.Mutex
	keeper keeper
	undos  []undo
}

// apply makes changes, all or none.
func (c *changer) apply(changes []Change) error {
	for _, ch := range changes {
		if err := c.one(ch); err != nil {
			return errors.Join(err, c.restore())
		}
	}
	return nil
}

func (c *changer) one(ch Change) error {
	u, err := ch.undo()
	if err != nil {
		return err
	}
	if c.keeper != nil {
		if err := c.keeper.keep(u); err != nil {
			return err
		}
	}
	c.mu.Lock()
	c.undos = append(c.undos, u)
	c.mu.Unlock()
	return ch.apply() // what it did half is taken back, too
}

// restore takes all changes back. What fails is in the error, and does not keep
// the rest from being taken back.
func (c *changer) restore() error {
	c.mu.Lock()
	undos := c.undos
	c.undos = nil
	c.mu.Unlock()
	var errs []error
	for _, u := range slices.Backward(undos) {
		if err := u.run(); err != nil {
			errs = append(errs, fmt.Errorf("put back %s: %w", u.Path, err))
			continue // the guard will try again
		}
		if c.keeper != nil {
			errs = append(errs, c.keeper.drop(u))
		}
	}
	return errors.Join(errs...)
}
