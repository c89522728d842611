package overlay

import (
	"os"
	"syscall"
)

func minorFaults(s *os.ProcessState) int64 { return int64(s.SysUsage().(*syscall.Rusage).Minflt) }
