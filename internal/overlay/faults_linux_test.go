package overlay

import (
	"os"
	"syscall"
)

func minorFaults(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Minflt }
