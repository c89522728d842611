package main

import (
	"syscall"
	"unsafe"
)

// Without CONFIG_ANON_VMA_NAME the kernel does not keep the name, and says EINVAL.
const (
	prSetVMA         = 0x53564d41
	prSetVMAAnonName = 0
)

func init() {
	name := append([]byte("leak"), 0)
	mapped = func() {
		b, err := syscall.Mmap(-1, 0, 32<<10, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		if err != nil {
			panic(err)
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		syscall.Syscall6(syscall.SYS_PRCTL, prSetVMA, prSetVMAAnonName, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&name[0])), 0)
	}
}
