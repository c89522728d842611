//go:build !unix && !windows

package gctune

import "time"

// processTime is not known here: the runtime's own account has to do.
func processTime() (time.Duration, bool) { return 0, false }
