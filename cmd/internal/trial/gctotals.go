package trial

import (
	"errors"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
)

// gcTotals are the figures of several processes.
type gcTotals struct {
	gccount.Figures
	processes int   // Go programs that were read, or should have been
	known     bool  // something was read
	err       error // why some are not known
}

// errUntold is why there may have been more GC cycles where no exit is told.
var errUntold = errors.New("where no process may be listened to (seccomp), what the GC did right before an exit is not seen, nor processes that were short-lived")
