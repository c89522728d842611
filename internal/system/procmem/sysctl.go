package procmem

import (
	"strconv"
	"strings"
)

// Sysctl reads a number below /proc/sys, such as "vm/swappiness".
func (f FS) Sysctl(name string) (int64, error) {
	return load(f.path("proc/sys/"+name), parseSysctl)
}

func parseSysctl(data []byte) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return 0, err // ParseInt gives the nearest number with a range error
	}
	return n, nil
}
