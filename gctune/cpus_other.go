//go:build !linux

package gctune

import "runtime"

// singleCPU reports whether the process could run on one CPU only when it began.
func singleCPU() bool { return runtime.NumCPU() == 1 }
