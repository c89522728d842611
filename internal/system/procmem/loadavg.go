package procmem

import (
	"fmt"
	"strconv"
	"strings"
)

// parseLoadavg reads the id that the kernel gave out last, the last field of
// /proc/loadavg: any process or thread that starts changes it. It is the only
// cheap answer to "did anything fork since I looked?". Ids go up, and start
// again at the bottom after kernel.pid_max.
//
// LXCFS and gVisor put a made-up file there, which does not follow forks.
func parseLoadavg(data []byte) (lastPID int, err error) {
	fields := strings.Fields(string(data))
	if len(fields) != 5 {
		return 0, fmt.Errorf("want 5 fields, have %d", len(fields))
	}
	n, err := strconv.Atoi(fields[4])
	if err != nil {
		return 0, fmt.Errorf("last pid: %w", err)
	}
	if n < 0 {
		return 0, fmt.Errorf("last pid: %w", errOverflow)
	}
	return n, nil
}
