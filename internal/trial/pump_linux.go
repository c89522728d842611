package trial

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/gctrace"
)

// A pump carries one output stream of the program to where it belongs, taking
// trace lines out on the way.
//
// The pipe is in packet mode (O_DIRECT): one read returns what one write wrote.
// The Go runtime writes a trace line in some forty pieces, and the pieces of two
// processes, or of a process and its own text, mix in the pipe; with their
// boundaries known they can be told apart.
type pump struct {
	r      *os.File
	filter *gctrace.Filter
	settle time.Duration
	stop   chan struct{} // closed: end as soon as the pipe is empty
	done   chan struct{}
	err    error // why output could not be passed on
}

// quiet is how long an unfinished trace line may hold back what follows. Tests
// make it longer: a machine that stands still in the middle of a line is no error.
var quiet = time.Second

const (
	// brief is the same for letters in which a prompt may end as well, the "g" of
	// "Loading".
	brief = 20 * time.Millisecond
	// settle is how long to wait for the rest of a trace line before looking
	// again: one look a line instead of one a piece, so that the program is not
	// slowed down by waking us forty times.
	settle = 300 * time.Microsecond
	// stopLook is how often an idle pump looks whether it is to stop.
	stopLook = 100 * time.Millisecond
	// roomy is how many packets a pipe must hold to wait that long. With pages
	// of 64 KiB, or where the user's pipes have used up their allowance, it holds
	// less than a trace line, and the program would wait for us.
	roomy = 128
	// pipeBytes is the largest pipe that an unprivileged user may have. A packet
	// takes a page of it, so the default pipe would hold half a trace line.
	pipeBytes = 1 << 20
)

// newPump returns the pump and the end of the pipe that the program writes to.
func newPump(dst io.Writer, opts *gctrace.Options) (*pump, *os.File, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_DIRECT); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeBytes) // a smaller pipe works, too
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	p := &pump{
		r: os.NewFile(uintptr(fds[0]), "|program"), filter: gctrace.NewFilter(dst, opts),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	if size, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETPIPE_SZ, 0); err == nil && size/os.Getpagesize() >= roomy {
		p.settle = settle
	}
	return p, os.NewFile(uintptr(fds[1]), "program|"), nil
}

// run carries, and says when it is done. It does not when the reader of the
// output panics: folio must not go on, and end well, while the panic is on its way.
func (p *pump) run() {
	p.carry()
	close(p.done)
}

// carry ends when the program and all its descendants closed the stream, or
// when stop is closed and the pipe is empty.
func (p *pump) carry() {
	defer p.r.Close()
	fd := int(p.r.Fd())
	// Fd makes the file blocking again on some Go versions; the loop needs it not to be.
	_ = unix.SetNonblock(fd, true)
	buf := make([]byte, 64<<10)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			if p.idle(poll) {
				continue
			}
			return
		case err != nil:
			p.err = os.NewSyscallError("read the program's output", err)
			return
		case n == 0:
			p.err = errors.Join(p.err, p.filter.Flush())
			return
		}
		if _, err := p.filter.Write(buf[:n]); err != nil {
			// Nobody reads our output any more. Closing the pipe lets the program
			// find out as it would have without us, by SIGPIPE.
			p.err = err
			return
		}
	}
}

// idle waits for more output and reports whether to go on.
func (p *pump) idle(poll []unix.PollFd) bool {
	if p.filter.Held() {
		if p.settle > 0 {
			time.Sleep(p.settle)
		}
		wait := brief
		if p.filter.Begun() {
			wait = quiet
		}
		if n, _ := unix.Poll(poll, int(wait.Milliseconds())); n == 0 {
			if p.err = p.filter.Flush(); p.err != nil {
				return false
			}
		}
		return true
	}
	for {
		n, err := unix.Poll(poll, int(stopLook.Milliseconds()))
		if n > 0 || (err != nil && err != unix.EINTR) {
			return true // read says what it is
		}
		select {
		case <-p.stop:
			return false
		default:
		}
	}
}

// finish waits for the end of the stream, which comes when its last writer is
// gone. A descriptor that a process outside the tree holds would keep it open
// for ever; so after a while the pipe is given up.
func (p *pump) finish() error {
	select {
	case <-p.done:
	case <-time.After(time.Second):
		close(p.stop)
		<-p.done
	}
	return p.err
}
