//go:build !linux

package load

import (
	"context"
	"time"
)

// A timer wakes its user at a time.
type timer struct{ ctx context.Context }

func newTimer(ctx context.Context) (*timer, error) { return &timer{ctx}, nil }

func (*timer) close() {}

func (t *timer) wait(until time.Time) bool { return sleep(t.ctx, until) }
