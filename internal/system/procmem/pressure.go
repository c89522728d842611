package procmem

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Pressure is how long tasks have waited for memory since the start (PSI): for
// reclaim, compaction, swapping in. Two readings tell more about now than the
// kernel's averages do. See Documentation/accounting/psi.rst.
type Pressure struct {
	Some time.Duration // at least one task waited
	Full time.Duration // all of them did
}

// MemoryPressure returns the memory pressure that a process is under, pid 0 the
// calling one: of its own cgroup where the kernel keeps it (version 2), else of
// the whole machine. ok is false when the kernel has none (before 4.20, without
// CONFIG_PSI, or booted with psi=0).
func (f FS) MemoryPressure(pid int) (p Pressure, ok bool, err error) {
	return f.PressureSource(pid).Read()
}

// PressureSource is where the memory pressure on a process can be read.
type PressureSource struct{ files []string }

// PressureSource finds it, for those who read it often: most of the time goes
// into finding the cgroup among the mounts. A process that moves to another cgroup
// takes its source not with it.
func (f FS) PressureSource(pid int) PressureSource {
	return PressureSource{append(f.pressureFiles(pid), f.path("proc/pressure/memory"))}
}

// Read reads the pressure, as [FS.MemoryPressure] does.
func (s PressureSource) Read() (p Pressure, ok bool, err error) {
	for _, file := range s.files {
		p, err = load(file, parsePressure)
		switch {
		case err == nil:
			return p, true, nil
		// With psi=0 the files are there, and fail with EOPNOTSUPP.
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.EOPNOTSUPP):
		default:
			return Pressure{}, false, err
		}
	}
	return Pressure{}, false, nil
}

// pressureFiles returns where the pressure of a process's own cgroup may be. The
// root cgroup has none, which is right: it is the machine's.
func (f FS) pressureFiles(pid int) []string {
	groups, err := load(f.procPath(pid, "cgroup"), parseCgroup)
	if err != nil {
		return nil
	}
	mounts, err := f.mounts()
	if err != nil {
		return nil
	}
	var files []string
	for _, g := range groups {
		if !g.unified() {
			continue
		}
		for _, m := range mounts {
			if m.fstype != "cgroup2" {
				continue
			}
			if below, ok := relative(m.root, g.path); ok {
				files = append(files, f.path(path.Join(m.point, below, "memory.pressure")))
			}
		}
	}
	return files
}

// parsePressure parses
//
//	some avg10=0.00 avg60=0.00 avg300=0.00 total=83325
//	full avg10=0.00 avg60=0.00 avg300=0.00 total=81789
//
// where total is in microseconds.
func parsePressure(data []byte) (p Pressure, err error) {
	seen := false
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		for _, field := range fields[1:] {
			text, ok := strings.CutPrefix(field, "total=")
			if !ok {
				continue
			}
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return Pressure{}, fmt.Errorf("total of %s: %w", fields[0], err)
			}
			if n > 1<<53 {
				return Pressure{}, fmt.Errorf("total of %s: %w", fields[0], errOverflow)
			}
			switch total := time.Duration(n) * time.Microsecond; fields[0] {
			case "some":
				p.Some, seen = total, true
			case "full":
				p.Full = total
			}
		}
	}
	if !seen {
		return Pressure{}, errEmpty
	}
	return p, nil
}
