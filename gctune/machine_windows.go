package gctune

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	length, load               uint32
	totalPhys, availPhys       uint64
	totalPageFile, availPage   uint64
	totalVirtual, availVirtual uint64
	availExtendedVirtual       uint64
}

var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// machineMemory is the memory of the machine in bytes, 0 when unknown.
func machineMemory() uint64 {
	var m memoryStatus
	m.length = uint32(unsafe.Sizeof(m))
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&m))); ok == 0 { // Safety: m outlives the call.
		return 0
	}
	return m.totalPhys
}
