//go:build !linux

package procmem

// MayTrace reports whether this process has CAP_SYS_PTRACE.
func MayTrace() bool { return false }
