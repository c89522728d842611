package gctune

import "golang.org/x/sys/unix"

// machineMemory is the memory of the machine in bytes, 0 when unknown.
func machineMemory() uint64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return n
}
