//go:build !linux

package lab

import (
	"os"
	"time"
)

func settle() {}

func minorFaults() uint64 { return 0 }

func processTime() time.Duration { return 0 }

func maxRSS(*os.ProcessState) uint64 { return 0 }
