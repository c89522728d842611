package main

import (
	"os/exec"
	"syscall"
)

// dieWithUs has a process end when this one does, however that happens.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
