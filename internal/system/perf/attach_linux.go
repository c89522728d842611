package perf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// attached is a process that ran already: what its records would have told.
type attached struct {
	pid, parent int // parent is 0 for the one that was asked for
	comm        string
	mappings    []Mapping
}

func (a *attached) tell(h *Handler) {
	if a.parent != 0 && h.Fork != nil {
		h.Fork(a.pid, a.parent)
	}
	if h.Exec != nil {
		h.Exec(a.pid, a.comm)
	}
	if h.Mmap != nil {
		for i := range a.mappings {
			h.Mmap(&a.mappings[i])
		}
	}
}

// Attach samples a process that runs already, with all its threads and
// descendants, from now on. What descendants cannot be sampled is told by Info.
func Attach(pid int, cfg Config) (*Session, error) {
	op := fmt.Sprintf("sample process %d", pid)
	s, err := newSession(cfg, op)
	if err != nil {
		return nil, err
	}
	if err := s.attach(pid); err != nil {
		s.Close()
		return nil, explain(op, err, pid)
	}
	return s, nil
}

// attach opens the events of all threads. New ones come meanwhile: those of
// threads that are sampled already inherit the events, and a record tells of
// them; the others have to be found by looking again.
func (s *Session) attach(root int) error {
	const rounds = 100 // nothing starts threads that fast for that long
	parents := map[int]int{}
	var order []int // processes with events of their own
	known := map[int]bool{}
	skipped := map[int]bool{}
	for round := range rounds {
		list, err := descendants(root)
		if err != nil {
			return err
		}
		var fresh [][2]int
		for _, p := range list {
			tids, err := taskIDs(p.pid)
			if err != nil {
				continue // it ended
			}
			for _, tid := range tids {
				if !known[tid] {
					fresh = append(fresh, [2]int{p.pid, tid})
				}
			}
			parents[p.pid] = p.parent
		}
		if err := s.gather(); err != nil {
			return err
		}
		for _, e := range s.found {
			if tid, ok := forked(s.buf[e.at : e.at+e.size]); ok {
				known[tid] = true
			}
		}
		added := false
		for _, f := range fresh {
			pid, tid := f[0], f[1]
			if known[tid] {
				continue
			}
			known[tid], added = true, true
			switch err := s.open(tid, false); {
			case err == unix.ESRCH: // it ended
			case (err == unix.EACCES || err == unix.EPERM) && pid != root:
				skipped[pid] = true
			case err != nil:
				return err
			default:
				if s.threads[pid] == nil {
					s.threads[pid] = make(map[int]bool)
					order = append(order, pid)
				}
				s.threads[pid][tid] = true
				if round > 0 && s.owners == nil {
					// It may have inherited some events, before the one that would
					// have told of it was there.
					s.owners = make(map[owner]uint64)
				}
			}
		}
		if !added {
			break
		}
	}
	if len(order) == 0 {
		return unix.ESRCH
	}
	if n := len(skipped); n > 0 {
		note := fmt.Sprintf("%d of its child processes cannot be sampled: they belong to another user", n)
		s.info.Reason = strings.TrimPrefix(s.info.Reason+"; "+note, "; ")
	}
	for _, pid := range order {
		s.seen = append(s.seen, look(pid, root, parents[pid]))
	}
	return nil
}

// look reads what is known about a process. A process that ended meanwhile has
// no mappings.
func look(pid, root, parent int) attached {
	a := attached{pid: pid, parent: parent}
	if pid == root {
		a.parent = 0
	}
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	a.comm = strings.TrimSuffix(string(comm), "\n")
	if maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid)); err == nil {
		defer maps.Close()
		a.mappings = parseMaps(pid, maps)
	}
	return a
}

// forked returns the thread that a record tells the start of.
func forked(rec []byte) (tid int, ok bool) {
	const at = headerSize + 8 // behind the process and its parent
	if binary.NativeEndian.Uint32(rec) != recordFork || len(rec) < at+4 {
		return 0, false
	}
	return int(int32(binary.NativeEndian.Uint32(rec[at:]))), true
}

func taskIDs(pid int) ([]int, error) { return numbers(fmt.Sprintf("/proc/%d/task", pid)) }

// numbers returns the names in a directory of /proc that are numbers.
func numbers(dir string) ([]int, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil && len(names) == 0 {
		return nil, err
	}
	list := make([]int, 0, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	return list, nil
}

type process struct{ pid, parent int }

// descendants returns a process and all below it, parents first.
func descendants(root int) ([]process, error) {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", root)); errors.Is(err, os.ErrNotExist) {
		return nil, unix.ESRCH
	}
	pids, err := numbers("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, pid := range pids {
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	list := []process{{pid: root}}
	for i := 0; i < len(list); i++ {
		below := children[list[i].pid]
		slices.Sort(below)
		for _, pid := range below {
			list = append(list, process{pid, list[i].pid})
		}
		delete(children, list[i].pid)
	}
	return list, nil
}

// parentOf reads the second field behind the name, which may contain anything.
func parentOf(pid int) (int, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
