package load

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A timer wakes its only user at a time, by a timer of the kernel. A time.Sleep is half a
// millisecond late on the median: an idle Go program waits in epoll_wait, which counts
// in milliseconds.
type timer struct {
	ctx  context.Context
	fd   int
	file *os.File
	stop func() bool
}

// newTimer makes a timer that ctx ends.
func newTimer(ctx context.Context) (*timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	t := &timer{ctx: ctx, fd: fd, file: os.NewFile(uintptr(fd), "timer")}
	t.stop = context.AfterFunc(ctx, func() { _ = t.file.SetReadDeadline(time.Unix(1, 0)) }) // ends a read
	return t, nil
}

func (t *timer) close() {
	t.stop()
	t.file.Close()
}

// wait returns true at the time until, at once if that is past, and false when the
// context ends before.
func (t *timer) wait(until time.Time) bool {
	for {
		d := time.Until(until)
		if d <= 0 {
			return t.ctx.Err() == nil
		}
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
		if err := unix.TimerfdSettime(t.fd, 0, &spec, nil); err != nil {
			return sleep(t.ctx, until)
		}
		var expirations [8]byte
		if _, err := t.file.Read(expirations[:]); err != nil {
			return sleep(t.ctx, until)
		}
	}
}
