package trial

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A family is all that descends from this process because of one trial. With
// this process as reaper, an orphan becomes its child, so nothing can leave the
// family but by dying.
type family struct {
	fs      procmem.FS
	foreign []int       // descendants of this process from before the trial: not ours to touch
	own     []int       // children that are reaped by themselves, not as orphans
	used    unix.Rusage // of the orphans that were reaped
	reaped  int         // how many they were
}

func newFamily(fs procmem.FS) *family {
	f := &family{fs: fs}
	f.foreign = f.members()
	return f
}

// childless says that this process has no child, dead or alive, and so, being
// the reaper, no descendant. It is one system call where looking takes a scan of
// all processes.
func childless() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil) == unix.ECHILD
}

// members returns the living and dead descendants, without those in except and
// without what descends from them.
func (f *family) members(except ...int) []int {
	if childless() {
		return nil
	}
	pids, _ := f.fs.Descendants(os.Getpid())
	drop := slices.Concat(f.foreign, except)
	for _, pid := range slices.Concat(f.foreign, except) {
		below, _ := f.fs.Descendants(pid)
		drop = append(drop, below...)
	}
	return slices.DeleteFunc(pids, func(pid int) bool { return slices.Contains(drop, pid) })
}

// look returns all members, and those that are not zombies.
func (f *family) look(except ...int) (all, living []int) {
	all = f.members(except...)
	for _, pid := range all {
		if st, err := f.fs.Stat(pid); err == nil && !st.Zombie() {
			living = append(living, pid)
		}
	}
	return all, living
}

// none says for certain that no member lives. A look takes time, in which a
// process can fork and end: the look finds it dead, and has missed its child.
// Only when the next look finds nobody but the same dead was nobody missed.
func (f *family) none(except ...int) bool {
	dead, living := f.look(except...)
	if len(living) > 0 || len(dead) == 0 {
		return len(living) == 0
	}
	again, living := f.look(except...)
	return len(living) == 0 && slices.Equal(dead, again)
}

// signal sends sig to every living member and returns how many there were.
func (f *family) signal(sig unix.Signal, except ...int) int {
	_, living := f.look(except...)
	for _, pid := range living {
		_ = unix.Kill(pid, sig) // one that just ended is what we want
	}
	return len(living)
}

// end ends every member but those below except: TERM, time to obey, then KILL
// until none is left. It returns how many had to be ended. A process in
// uninterruptible sleep can outlive even KILL; after a while end gives up on it.
func (f *family) end(grace time.Duration, except ...int) int {
	n := f.signal(unix.SIGTERM, except...)
	if n == 0 && f.none(except...) {
		return 0
	}
	n = max(n, 1)
	if f.waitGone(grace, except...) {
		return n
	}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); {
		// A stopped or forking process may have new children by now: look again.
		// Its dead are reaped on the way: the more there are, the longer a look.
		f.signal(unix.SIGKILL, except...)
		f.reapOrphans(except...)
		if f.none(except...) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return n
}

func (f *family) waitGone(limit time.Duration, except ...int) bool {
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if f.none(except...) {
			return true
		}
		if !time.Now().Before(deadline) {
			return false
		}
	}
}

// reapOrphans collects the dead that became children of this process and adds
// up what they used.
func (f *family) reapOrphans(except ...int) {
	self := os.Getpid()
	for _, pid := range f.members(except...) {
		st, err := f.fs.Stat(pid)
		if err != nil || st.PPID != self || !st.Zombie() || slices.Contains(f.own, pid) {
			continue
		}
		var ws unix.WaitStatus
		var ru unix.Rusage
		if got, err := unix.Wait4(pid, &ws, unix.WNOHANG, &ru); err == nil && got == pid {
			addRusage(&f.used, &ru)
			f.reaped++
		}
	}
}

// addRusage adds up what two processes used; the peak is the larger one's.
func addRusage(sum, ru *unix.Rusage) {
	sum.Utime = addTimeval(sum.Utime, ru.Utime)
	sum.Stime = addTimeval(sum.Stime, ru.Stime)
	sum.Minflt += ru.Minflt
	sum.Majflt += ru.Majflt
	sum.Maxrss = max(sum.Maxrss, ru.Maxrss)
}

// subtractRusage takes away from what a process used what it had used before.
func subtractRusage(ru, before *unix.Rusage) {
	ru.Utime = unix.NsecToTimeval(max(ru.Utime.Nano()-before.Utime.Nano(), 0))
	ru.Stime = unix.NsecToTimeval(max(ru.Stime.Nano()-before.Stime.Nano(), 0))
	ru.Minflt = max(ru.Minflt-before.Minflt, 0)
	ru.Majflt = max(ru.Majflt-before.Majflt, 0)
}

func addTimeval(a, b unix.Timeval) unix.Timeval {
	return unix.NsecToTimeval(a.Nano() + b.Nano())
}

// EndAll ends every process that descends from this one, without a grace
// period, and removes their cgroups. It is for the moment before folio itself ends out
// of order.
func EndAll() {
	f := &family{}
	f.end(0)
	f.reapOrphans()
	cgroup.CloseAll()
}
