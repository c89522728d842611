//go:build !unix

package main

import "time"

// processorTime is not known; folio inspect needs Linux anyway.
func processorTime() time.Duration { return 0 }
