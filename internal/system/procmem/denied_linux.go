package procmem

import "golang.org/x/sys/unix"

// MayTrace and MayNice report whether this process has CAP_SYS_PTRACE and CAP_SYS_NICE.
func MayTrace() bool { return capable(unix.CAP_SYS_PTRACE) }
func MayNice() bool  { return capable(unix.CAP_SYS_NICE) }

// capable reports whether this process has a capability.
func capable(c int) bool {
	var caps [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return false
	}
	return caps[c/32].Effective&(1<<(c%32)) != 0
}
