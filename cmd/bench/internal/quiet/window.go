package quiet

import (
	"errors"
	"time"
)

// ErrTime ends rounds for which there is no time.
var ErrTime = errors.New("no time for another round")

// A Window is the time that rounds have: none begins that would not end within it, were it
// as long as the longest so far.
type Window struct {
	Most time.Duration    // 0 for no bound
	Now  func() time.Time // nil for time.Now

	began, current time.Time
	round          int
	longest        time.Duration
}

// Fits is asked before each run.
func (w *Window) Fits(round int) bool {
	if w.Now == nil {
		w.Now = time.Now
	}
	at := w.Now()
	switch {
	case w.began.IsZero():
		w.began, w.current = at, at
	case round != w.round:
		w.longest = max(w.longest, at.Sub(w.current))
		w.current, w.round = at, round
		return w.Most == 0 || at.Add(w.longest).Sub(w.began) <= w.Most
	}
	return true
}
