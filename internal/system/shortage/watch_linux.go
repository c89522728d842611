package shortage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
)

// A wake is something in the kernel that wakes this process.
type wake struct {
	f      *os.File
	events int16
	then   func()    // what it says
	often  bool      // it can come many times a second
	rests  time.Time // it is not waited for until then
}

// A Watch waits for one cgroup, or for those of a process, or for the machine.
type Watch struct {
	sources []*watched
	wakes   []*wake
	costs   costs
	groups  []*group
	machine source // asked when tasks wait for memory, whatever is watched

	pid      int // 0: a cgroup is watched
	stalled  bool
	ended    bool
	stop     *os.File // an eventfd that ends a wait
	saved    time.Time
	pause    time.Duration // for how long after it no stall is said
	killed   uint64
	poll     func([]unix.PollFd, time.Duration) error
	now      func() time.Time
	notified bool // by the kernel, at the threshold
}

// watched is a source with its state.
type watched struct {
	source
	limit    uint64 // 0: none
	checked  time.Time
	notifies bool   // the kernel wakes this process when usage passes the threshold
	at       uint64 // of the notification
	over     bool   // it was said, and use has not fallen since
	said     Event  // the last time
}

func newWatch(pid int) (*Watch, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	return &Watch{pid: pid, stop: os.NewFile(uintptr(fd), "eventfd"), poll: pollFor, now: time.Now, pause: again}, nil
}

// Process watches the memory cgroups of a process that have a limit, or else the machine.
// The process must live.
func Process(f procmem.FS, pid int) (_ *Watch, err error) {
	w, err := newWatch(pid)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil, fs.ErrNotExist
	case err == nil:
		w.wakes = append(w.wakes, &wake{f: os.NewFile(uintptr(fd), "pidfd"), events: unix.POLLIN, then: func() { w.ended = true }})
	}
	groups, err := f.MemoryGroups(pid)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		shown := f.GroupDir(g)
		if err := w.addGroup(f.Path(shown), shown, true); err != nil && !missing(err) {
			return nil, err
		}
	}
	return w, w.addMachine(f)
}

// Group watches a cgroup by its directory. Without a limit of its own, those above it
// count, or else the machine.
func Group(f procmem.FS, dir string) (_ *Watch, err error) {
	w, err := newWatch(0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
		return nil, fmt.Errorf("%s is not the directory of a cgroup: no cgroup.procs is in it", dir)
	}
	if err := w.addGroup(dir, dir, false); missing(err) {
		return nil, fmt.Errorf("%s does not count memory: its memory controller is off, or in another hierarchy", dir)
	} else if err != nil {
		return nil, err
	}
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, "cgroup.procs")); err != nil || up == filepath.Dir(up) {
			break
		}
		if err := w.addGroup(up, up, true); err != nil && !missing(err) {
			return nil, err
		}
	}
	return w, w.addMachine(f)
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENODEV)
}

// addGroup adds a group, those that may be left out only with a limit, or with memory.high.
func (w *Watch) addGroup(dir, shown string, optional bool) error {
	g, err := openGroup(dir, shown)
	if err != nil {
		return err
	}
	limit, err := g.limit()
	var high uint64
	if err == nil {
		high, err = g.high()
	}
	if err != nil || limit == 0 && high == 0 && optional {
		g.close()
		return err
	}
	w.groups = append(w.groups, g)
	s := &watched{source: g, limit: limit}
	w.sources = append(w.sources, s)
	w.notify(s, g)
	w.stalls(g)
	if n, ok := g.kills(); ok {
		w.killed = max(w.killed, n)
	}
	return nil
}

// addMachine adds the machine: as what is watched, if there is no limit, and always as what
// can be short when tasks wait.
func (w *Watch) addMachine(f procmem.FS) error {
	limited := slices.ContainsFunc(w.sources, func(s *watched) bool { return s.limit > 0 })
	m, err := openMachine(f.Path("proc/meminfo"))
	if err != nil {
		if limited {
			return nil // it is watched without
		}
		return err
	}
	w.machine = m
	if limited {
		return nil
	}
	limit, err := m.limit()
	if err != nil {
		return err
	}
	w.sources = append(w.sources, &watched{source: m, limit: limit})
	w.trigger(f.Path("proc/pressure/memory"))
	return nil
}

// notify has the kernel say when usage passes the threshold (version 1). Where it does
// not, usage is read.
func (w *Watch) notify(s *watched, g *group) {
	if g.unified || s.limit == 0 {
		return
	}
	s.at = threshold(s.limit)
	if e := g.event("memory.usage_in_bytes", strconv.FormatUint(s.at, 10)); e != nil {
		s.notifies = true
		w.wakes = append(w.wakes, &wake{f: e, events: unix.POLLIN, often: true, then: func() { w.notified = drain(e) || w.notified }})
	}
}

// event registers an eventfd; nil if the kernel does not take it.
func (g *group) event(name, argument string) *os.File {
	f, err := os.Open(filepath.Join(g.dir, name))
	if err != nil {
		return nil
	}
	defer f.Close() // the kernel keeps what it needs
	control, err := os.OpenFile(filepath.Join(g.dir, "cgroup.event_control"), os.O_WRONLY, 0)
	if err != nil {
		return nil
	}
	defer control.Close()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil
	}
	e := os.NewFile(uintptr(fd), name)
	if _, err := fmt.Fprintf(control, "%d %d %s", fd, f.Fd(), argument); err != nil {
		e.Close()
		return nil
	}
	return e
}

// drain takes what an eventfd counted.
func drain(f *os.File) bool {
	var b [8]byte
	n, err := syscall.Read(int(f.Fd()), b[:])
	return err == nil && n == len(b)
}

// Close ends the watch: the kernel forgets what was asked of it.
func (w *Watch) Close() error {
	for _, s := range w.sources {
		if s.source != w.machine {
			s.close()
		}
	}
	if w.machine != nil {
		w.machine.close()
	}
	for _, k := range w.wakes {
		k.f.Close()
	}
	return w.stop.Close()
}

// Limits says what is watched.
func (w *Watch) Limits() (out []Limit) {
	for _, s := range w.sources {
		if s.limit > 0 {
			out = append(out, Limit{s.name(), s.limit, threshold(s.limit)})
		}
	}
	return out
}

// Wait waits until memory is short, the process has ended, or the cgroup is gone. It says
// once that use has passed a limit, until it has fallen below 90% of it, and then within a
// minute only if it is higher than it was.
func (w *Watch) Wait(ctx context.Context) (Event, error) {
	defer context.AfterFunc(ctx, func() {
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], 1)
		_, _ = w.stop.Write(b[:])
	})()
	for {
		if err := ctx.Err(); err != nil {
			return Event{}, err
		}
		if w.ended {
			return w.end(), nil
		}
		begin := w.now()
		e, wait, err := w.look()
		switch {
		case missing(err):
			return w.end(), nil
		case err != nil:
			return Event{}, err
		case e.Cause != "":
			w.saved = e.At
			return e, nil
		}
		w.costs.add(w.now().Sub(begin))
		if err := w.sleep(wait); err != nil {
			return Event{}, err
		}
	}
}

func (w *Watch) end() Event { return Event{Cause: Ended, At: w.now(), Killed: w.sinceKilled()} }

// sinceKilled says whether an OOM killer has ended a process since the watch began.
func (w *Watch) sinceKilled() bool {
	for _, g := range w.groups {
		if n, ok := g.kills(); ok && n > w.killed {
			return true
		}
	}
	return false
}

// settle is how often limits are read.
const settle = 2 * time.Second

// look reads once, and says how long to wait for the next look.
func (w *Watch) look() (Event, time.Duration, error) {
	now := w.now()
	wait := settle
	for _, s := range w.sources {
		if now.Sub(s.checked) >= settle || w.notified {
			limit, err := s.source.limit()
			if err != nil {
				return Event{}, 0, err
			}
			s.notifies = s.notifies && limit == s.limit // another threshold: read it
			s.limit, s.checked = limit, now
		}
		if s.limit == 0 {
			continue
		}
		e, left, err := s.look(now)
		if err != nil {
			return Event{}, 0, err
		}
		if e.Cause != "" {
			w.notified = false
			return e, 0, nil
		}
		if !s.notifies || e.Usage >= s.at {
			wait = min(wait, pace(left, w.costs.least()))
		}
	}
	w.notified = false
	if w.stalled {
		w.stalled = false
		e, err := w.short(now)
		if err != nil || e.Cause != "" {
			return e, 0, err
		}
	}
	return Event{}, wait, nil
}

// news reports whether use is to be said again: within a minute only if it is a hundredth
// of the limit above what it was. A heap that falls at each GC cycle passes the threshold
// some times a second.
func (s *watched) news(e *Event) bool {
	return e.At.Sub(s.said.At) >= again || e.Use >= s.said.Use+s.limit/100
}

// look reads a source; left is what is left before it is too much, as a share.
func (s *watched) look(now time.Time) (e Event, left float64, err error) {
	e = Event{At: now, Group: s.name(), Limit: s.limit}
	usage, err := s.usage()
	if err != nil {
		return e, 0, err
	}
	e.Usage, e.Use = usage, usage
	if usage >= calm(s.limit) {
		if e.Use, e.Cache, err = s.use(); err != nil {
			return e, 0, err
		}
	}
	switch {
	case e.Use < calm(s.limit):
		s.over = false
	case e.Use >= threshold(s.limit) && !s.over && s.news(&e):
		s.over = true
		e.Cause = Limited
		s.said = e
	}
	if s.over {
		// Nothing is to be said before it has fallen: that is no matter of milliseconds.
		return e, 1, nil
	}
	return e, Share - e.Share(), nil
}

// sleep waits for the kernel, or so long.
func (w *Watch) sleep(d time.Duration) error {
	begin := w.now()
	fds := make([]unix.PollFd, 0, len(w.wakes)+1)
	fds = append(fds, unix.PollFd{Fd: int32(w.stop.Fd()), Events: unix.POLLIN})
	for _, k := range w.wakes {
		fd := int32(k.f.Fd())
		if left := k.rests.Sub(begin); left > 0 {
			fd = -1 // poll passes over it
			d = min(d, left)
		}
		fds = append(fds, unix.PollFd{Fd: fd, Events: k.events})
	}
	if err := w.poll(fds, d); err != nil {
		return err
	}
	if fds[0].Revents&unix.POLLIN != 0 {
		drain(w.stop) // of this wait, or of one before
	}
	for i := len(w.wakes) - 1; i >= 0; i-- {
		k, got := w.wakes[i], fds[i+1].Revents
		if got&k.events != 0 {
			k.then()
			if k.often {
				k.rests = w.now().Add(max(least, w.costs.least()*rest))
			}
		}
		if got&(unix.POLLERR|unix.POLLNVAL|unix.POLLHUP) != 0 && !w.ended { // its cgroup is gone: reading says so
			k.f.Close()
			w.wakes = append(w.wakes[:i], w.wakes[i+1:]...)
		}
	}
	return nil
}

func pollFor(fds []unix.PollFd, d time.Duration) error {
	timeout := unix.NsecToTimespec(int64(d))
	_, err := unix.Ppoll(fds, &timeout, nil)
	if errors.Is(err, unix.EINTR) {
		return nil // the next look is earlier
	}
	return os.NewSyscallError("ppoll", err)
}
