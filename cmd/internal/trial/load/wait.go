package load

import (
	"context"
	"time"
)

// sleep returns true at the time until, at once if that is past, and false if ctx ends
// before.
func sleep(ctx context.Context, until time.Time) bool {
	d := time.Until(until)
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
