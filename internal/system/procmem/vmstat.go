package procmem

import (
	"bytes"
	"fmt"
	"strconv"
)

// Vmstat is /proc/vmstat: the kernel's counters of what it did to memory since
// it started, for the whole machine, also when read inside a container. Which
// ones there are depends on the kernel. See proc_vmstat(5).
type Vmstat map[string]uint64

// Vmstat reads /proc/vmstat.
func (f FS) Vmstat() (Vmstat, error) {
	return load(f.path("proc/vmstat"), parseVmstat)
}

func parseVmstat(data []byte) (Vmstat, error) {
	all := make(Vmstat)
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		name, value, ok := bytes.Cut(line, []byte(" "))
		if !ok {
			return nil, fmt.Errorf("want \"name number\", have %q", line)
		}
		// Some gauges are made of several counters that are read one after the
		// other, and may come out below zero, printed as if they were huge.
		n, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[string(name)] = n
	}
	if len(all) == 0 {
		return nil, errEmpty
	}
	return all, nil
}
