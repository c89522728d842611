//go:build !darwin && !windows

package gctune

// machineMemory is not known; Linux has what is available instead.
func machineMemory() uint64 { return 0 }
