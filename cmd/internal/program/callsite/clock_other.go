//go:build !linux

package callsite

func monotonic() uint64 { return 0 }
