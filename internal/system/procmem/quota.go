package procmem

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// CPUQuota returns how many CPUs' worth of time the cgroups of a process allow it: the least
// quota of its cgroup and all above it that are visible, in version 1 and version 2
// hierarchies. pid 0 is the calling process. ok is false when none has one.
func (f FS) CPUQuota(pid int) (cpus float64, ok bool, err error) {
	return least(f, pid, "cpu", func(dir string, unified bool) (*float64, error) {
		q, err := f.quota(dir, unified)
		if q <= 0 {
			return nil, err
		}
		return &q, err
	})
}

// quota reads the quota of one cgroup; 0 for none.
func (f FS) quota(dir string, unified bool) (cpus float64, err error) {
	if unified {
		return load(f.path(path.Join(dir, "cpu.max")), parseQuota)
	}
	quota, err := load(f.path(path.Join(dir, "cpu.cfs_quota_us")), parseMicros)
	if err != nil || quota <= 0 { // -1: none
		return 0, err
	}
	period, err := load(f.path(path.Join(dir, "cpu.cfs_period_us")), parseMicros)
	if err != nil || period <= 0 {
		return 0, err
	}
	return quota / period, nil
}

// parseQuota reads cpu.max: "50000 100000", or "max 100000".
func parseQuota(data []byte) (float64, error) {
	fields := strings.Fields(string(data))
	if len(fields) != 2 {
		return 0, fmt.Errorf("want a quota and a period, have %q", strings.TrimSpace(string(data)))
	}
	if fields[0] == "max" {
		return 0, nil
	}
	quota, err := parseMicros([]byte(fields[0]))
	if err != nil {
		return 0, err
	}
	period, err := parseMicros([]byte(fields[1]))
	if err != nil {
		return 0, err
	}
	if quota <= 0 || period <= 0 {
		return 0, fmt.Errorf("want a quota and a period above 0, have %q", strings.TrimSpace(string(data)))
	}
	return quota / period, nil
}

func parseMicros(data []byte) (float64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return float64(n), err
}
