//go:build !linux

package procmem

// MayTrace and MayNice report whether this process has CAP_SYS_PTRACE and CAP_SYS_NICE.
func MayTrace() bool { return false }
func MayNice() bool  { return false }
