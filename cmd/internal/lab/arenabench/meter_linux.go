package arenabench

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func read() (u usage) {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		u = usage{time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano()), uint64(ru.Minflt)}
	}
	return u
}

// peak returns the most memory that was resident since this program was started.
// Getrusage would also count what the process held before the exec.
func peak() uint64 { return kilobytes("/proc/self/status", "VmHWM:") }

// residency returns what is resident, and what of it is on huge pages.
func residency() (resident, huge uint64) {
	const file = "/proc/self/smaps_rollup" // kernel 4.14+
	return kilobytes(file, "Rss:"), kilobytes(file, "AnonHugePages:")
}

// kilobytes returns, in bytes, a size that a kernel's file gives in kB, 0 if it
// does not.
func kilobytes(file, field string) uint64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	return sizeIn(string(data), field)
}

func sizeIn(text, field string) uint64 {
	for len(text) > 0 {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 53)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}
