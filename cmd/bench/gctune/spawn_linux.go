package main

import (
	"os"
	"os/exec"
	"syscall"
)

// dieWithUs has the process end when this one does, however that happens.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// peakRSS is in bytes.
func peakRSS(p *os.ProcessState) float64 {
	if ru, ok := p.SysUsage().(*syscall.Rusage); ok {
		return float64(ru.Maxrss) * 1024
	}
	return 0
}

// wasKilled reports whether a process ended by SIGKILL, as the kernel does it to
// one that exceeds a limit.
func wasKilled(p *os.ProcessState) bool {
	ws, ok := p.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL
}
