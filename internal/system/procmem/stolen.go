package procmem

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Stolen reads the first line of /proc/stat: for how long the host of a virtual machine ran
// something else while a processor here had work, all processors together, since the start. It
// is in steps of 10 ms, and 0 where the host does not tell.
func (f FS) Stolen() (time.Duration, error) {
	return load(f.path("proc/stat"), parseStolen)
}

func parseStolen(data []byte) (time.Duration, error) {
	const steal = 8 // user, nice, system, idle, iowait, irq, softirq, steal
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	if len(fields) <= steal || fields[0] != "cpu" {
		return 0, fmt.Errorf("want \"cpu\" and %d numbers, have %q", steal, line)
	}
	n, err := strconv.ParseInt(fields[steal], 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("steal: %w", err)
	case n < 0:
		return 0, errors.New("steal: negative")
	}
	return time.Duration(n) * (time.Second / userHz), nil
}
