package trial

import (
	"errors"
	"slices"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
)

// gcTotals are the figures of several processes.
type gcTotals struct {
	gccount.Figures
	processes int   // Go programs that were read, or should have been
	known     bool  // something was read
	err       error // why some are not known

	libraries []string // Go libraries of these, with their versions of Go
	program   bool     // a Go program is among these
}

// addLibraries adds what a process has.
func (t *gcTotals) addLibraries(names []string, program bool) {
	t.program = t.program || program
	for _, name := range names {
		if !slices.Contains(t.libraries, name) {
			t.libraries = append(slices.Clip(t.libraries), name)
		}
	}
}

// errUntold is why there may have been more GC cycles where no exit is told.
var errUntold = errors.New("where no process may be listened to (seccomp), what the GC did right before an exit is not seen, nor processes that were short-lived")
