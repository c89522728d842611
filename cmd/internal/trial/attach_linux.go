package trial

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Attach samples a process that runs already, with its descendants, for a while,
// until it ends, or until ctx does. The process is not touched: of its figures
// only those are known that the kernel keeps.
// keep leaves the samples themselves in Sample.Profile.
func Attach(ctx context.Context, fs procmem.FS, pid, rate int, d time.Duration, keep Keep) (*Sample, error) {
	st, err := fs.Find(pid)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--attach %d: %w", pid, err)
	case st.Zombie():
		return nil, fmt.Errorf("--attach %d: %w", pid, procmem.ErrNoProcess)
	case st.Kernel:
		return nil, fmt.Errorf("--attach %d: %w", pid, procmem.ErrKernelThread)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := perf.Attach(pid, perf.Config{Frequency: rate, Faults: true})
	if err != nil {
		return nil, fmt.Errorf("--attach %d: %w", pid, err)
	}
	defer session.Close()
	tree := fs.NewTree(pid)
	defer tree.Close()
	w := &watch{fs: fs, tree: tree, last: make(map[int]looked), runtimes: newRuntimes(fs)}
	collector := profile.New(nil)
	handler := collector.Handler()

	listens, _ := fs.Listening(pid) // it may not be known
	w.look()
	before, begin := w.sum(), time.Now()
	ended := pidEnd(ctx, pid)
	timer := time.NewTimer(d)
	defer timer.Stop()
	ticker := time.NewTicker(drainEvery)
	defer ticker.Stop()
	for running := true; running; {
		select {
		case <-ticker.C:
		case <-timer.C:
			running = false
		case <-ended:
			running = false
		case <-ctx.Done():
			running = false
		}
		if err := session.Drain(handler); err != nil {
			return nil, fmt.Errorf("--attach %d: %w", pid, err)
		}
		w.look()
	}
	after := w.sum()
	out := &Sample{Round: 1, Sequence: 1, Wall: time.Since(begin).Seconds(), attached: true}
	out.User, out.Sys = after.since(before)
	out.CPU = out.User + out.Sys
	out.MinorFaults, out.MajorFaults = int64(after.minor-before.minor), int64(after.major-before.major)
	if w.trees.looks > 0 {
		largest, _ := w.largest.most(0)
		tree, looks := w.trees.most(0)
		out.PeakRSS, out.PeakRSSSource = &largest, Sampled
		out.PeakTreeRSS, out.PeakTreeRSSSource, out.PeakTreeRSSLooks = &tree, Sampled, looks
	}
	if w.hugeSeen {
		out.HugePeak = &w.peakHuge
	}
	out.Processes = len(w.last)
	for _, a := range listens {
		out.Listening = append(out.Listening, a.String())
	}
	out.fillWhere(collector, profile.AccountsOf(session, out.User, out.Sys), keep)
	out.setGC(w.runtimes.totals()) // before the end: it reads those that live
	w.runtimes.end()
	return out, nil
}

// watch keeps what the processes of a tree used, also after they have ended.
type watch struct {
	fs   procmem.FS
	tree *procmem.Tree
	last map[int]looked

	runtimes       *runtimes
	trees, largest peaks
	peakHuge       uint64
	hugeSeen       bool
	nextHuge       time.Time
}

// looked is what a process had used at the last look.
type looked struct {
	procmem.Stat
	cpu time.Duration
}

func (w *watch) look() {
	_ = w.tree.Update() // a look that fails leaves what was seen
	w.runtimes.look(w.tree.PIDs())
	for _, pid := range w.tree.PIDs() {
		if st, err := w.fs.Stat(pid); err == nil {
			w.last[pid] = looked{st, CPUTime(st)}
		}
	}
	if total, largest, n := w.tree.RSS(); n > 0 {
		w.trees.add(total)
		w.largest.add(largest)
	}
	if now := time.Now(); now.After(w.nextHuge) {
		if bytes, ok := w.tree.AnonHuge(); ok {
			w.peakHuge, w.hugeSeen = max(w.peakHuge, bytes), true
		}
		w.nextHuge = now.Add(max(minHugeLook, hugeShare*time.Since(now)))
	}
}

func (w *watch) sum() (u usage) {
	for _, st := range w.last {
		u.cpu += st.cpu
		u.user += st.UTime
		u.sys += st.STime
		u.minor += st.MinFlt
		u.major += st.MajFlt
	}
	return u
}

// pidEnd returns a channel that is closed when a process, of anyone, ends. It
// never is on kernels before 5.3.
func pidEnd(ctx context.Context, pid int) <-chan struct{} {
	done := make(chan struct{})
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return done
	}
	go func() {
		defer unix.Close(fd)
		for ctx.Err() == nil {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if n, err := unix.Poll(fds, 100); n > 0 || err != nil && err != unix.EINTR {
				close(done)
				return
			}
		}
	}()
	return done
}
