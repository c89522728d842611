package perf

import (
	"errors"
	"fmt"
	"os"
)

// OpenSystem samples all processes of the system, by the clock, from now on. It needs
// CAP_PERFMON. The handler is told of samples alone: which process has what mapped, and
// whether it is the one that had its number before, is for the caller to find out
// ([Mappings]). CPUs that idle have no samples, but wake up as often.
func OpenSystem(cfg Config) (*Session, error) {
	const op = "sample all processes"
	s, err := newSession(cfg, op)
	if err != nil {
		return nil, err
	}
	// A cycle counter at a low frequency begins with a burst each time that it is opened.
	s.mode.system, s.mode.hardware, s.info.Hardware, s.tlb = true, false, false, false
	if err := s.open(-1, false); err != nil {
		s.Close()
		e := explain(op, err, 0)
		if _, ring := errors.AsType[ringError](err); !ring {
			level, ok := paranoid()
			e.Cause, e.Text = reason(err, 0, 0, level, ok) // of all processes: more is needed
		}
		return nil, e
	}
	return s, nil
}

// Mappings returns the executable mappings of a process. One that has ended has none.
func Mappings(pid int) ([]Mapping, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMaps(pid, f), nil
}
