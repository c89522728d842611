//go:build !unix && !windows

package cputime

import "time"

// Process is not known here: the runtime's own account has to do.
func Process() (time.Duration, bool) { return 0, false }
