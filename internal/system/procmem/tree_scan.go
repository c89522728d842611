package procmem

import "time"

// scanner finds processes that are new since it last looked.
//
// It keeps two marks in the sequence of process ids: last, where the kernel was
// at the previous look, and from, where it was at the look before. Ids up to
// from are settled, those up to last get a second look: the kernel gives out
// the id a little before the process appears in /proc, and a parent can die
// just after its child was read.
type scanner struct {
	loadavg *file // nil if the last pid cannot be had
	scanAll bool  // look at all processes next time
	from    int
	last    int
	scanned time.Time     // when all processes were looked at
	cost    time.Duration // and how long that took

	scans, probes int // how often all, and how many single ids, for tests
}

const (
	// maxProbes is how many new ids are looked at one by one. An id costs less
	// than a process does in a scan, as many belong to threads or to the dead.
	maxProbes = 512
	// settle is how far before the last pid a process may hide that had an id
	// but was not yet in /proc when all processes were looked at.
	settle = 32
	// scanShare bounds scans that no new root asked for to 1/scanShare of the time.
	scanShare = 100
)

func (s *scanner) open(f FS) {
	// LXCFS mounts its own file over the kernel's: it is refreshed every few
	// seconds, and would hide all that is forked in between.
	if mounts, err := f.mounts(); err == nil {
		for _, m := range mounts {
			if m.point == "/proc/loadavg" {
				return
			}
		}
	}
	s.loadavg, _ = openFile(f.path("proc/loadavg"))
}

func (s *scanner) close() {
	if s.loadavg != nil {
		s.loadavg.Close()
	}
}

// look returns the processes that may be new; known ones are left out. A full
// scan that fails is tried again the next time.
func (s *scanner) look(f FS, known func(pid int) bool) ([]Stat, error) {
	// Read before looking: what is forked during the look changes the next one.
	cur, ok := s.lastPID()
	switch {
	case s.scanAll:
	case ok && cur == s.last && cur == s.from:
		return nil, nil
	case ok && cur >= s.last && cur-s.from <= maxProbes:
		from := s.from
		s.from, s.last = s.last, cur
		return s.probe(f, from, known), nil
	case time.Since(s.scanned) < scanShare*s.cost:
		return nil, nil // the marks stay, so nothing is lost
	}
	s.scans++
	begin := time.Now()
	found, err := scanProc(f, known)
	if err != nil {
		return nil, err
	}
	s.scanned, s.cost = begin, time.Since(begin)
	s.scanAll = false
	s.from, s.last = max(cur-settle, 0), cur
	return found, nil
}

// probe looks at the processes with the ids after from up to last.
func (s *scanner) probe(f FS, from int, known func(pid int) bool) []Stat {
	var found []Stat
	for pid := from + 1; pid <= s.last; pid++ {
		if known(pid) {
			continue
		}
		s.probes++
		// Most often it is gone already.
		if st, err := f.Stat(pid); err == nil {
			found = append(found, st)
		}
	}
	return found
}

// lastPID reads the last pid from the file that is kept open. ok is false when
// the file has no usable number: gVisor always says 0.
func (s *scanner) lastPID() (pid int, ok bool) {
	if s.loadavg == nil {
		return 0, false
	}
	var buf [128]byte
	n, err := s.loadavg.readStart(buf[:])
	if err != nil {
		return 0, false
	}
	pid, err = parseLoadavg(buf[:n])
	return pid, err == nil && pid > 0
}

// scanProc reads the stat of all processes but the known ones, in the order of
// their ids. Processes that end meanwhile, or that hidepid hides, are left out.
func scanProc(f FS, known func(pid int) bool) ([]Stat, error) {
	pids, err := f.PIDs()
	if err != nil {
		return nil, err
	}
	var found []Stat
	for _, pid := range pids {
		if known(pid) {
			continue
		}
		if s, err := f.Stat(pid); err == nil {
			found = append(found, s)
		}
	}
	return found, nil
}
