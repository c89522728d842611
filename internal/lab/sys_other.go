//go:build !linux

package lab

func settle() {}

func minorFaults() uint64 { return 0 }
