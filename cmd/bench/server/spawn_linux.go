package main

import (
	"os/exec"
	"syscall"
)

// dieWithUs has the process end what it started, and itself, when this one ends, however
// that happens.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
