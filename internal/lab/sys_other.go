//go:build !linux

package lab

import "time"

func settle() {}

func minorFaults() uint64 { return 0 }

func processTime() time.Duration { return 0 }
