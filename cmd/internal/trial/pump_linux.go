package trial

import (
	"io"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
)

// A pump carries one output stream of the program to where it belongs, taking
// trace lines out on the way.
//
// The pipe is in packet mode (O_DIRECT): one read returns what one write wrote.
// The Go runtime writes a trace line in some forty pieces, and the pieces of two
// processes, or of a process and its own text, mix in the pipe; with their
// boundaries known they can be told apart.
//
// Every time that folio wakes up it takes a processor from the program; forty
// times a trace line would cost more than the GC cycle. So the pump does not
// wait for output to come: it looks every few milliseconds (see nap), and the
// pipe is large enough for what comes meanwhile. A program that prints much is
// waited for, since it would soon wait for us.
type pump struct {
	r      *os.File
	fd     int
	filter *gctrace.Filter
	buf    []byte
	room   int                // packets that the pipe holds
	alarm  *alarm             // rung: the program has ended, the end of the stream is near
	asked  chan chan struct{} // by look
	stop   chan struct{}      // closed: end as soon as the pipe is empty
	done   chan struct{}
	err    error // why output could not be passed on
}

// quiet is how long an unfinished trace line may hold back what follows. Tests
// make it longer: a machine that stands still in the middle of a line is not an error.
var quiet = time.Second

const (
	// brief is the same for letters in which a prompt may end as well, the "g" of
	// "Loading".
	brief = 20 * time.Millisecond
	// Between two looks at a stream pass maxNap, and down to minNap when so much
	// comes that the pipe would be full by then.
	minNap = beat
	maxNap = 8 * beat
	// pipeBytes is the largest pipe that an unprivileged user may have. A packet
	// takes a page of it: with pages of 4 KiB it holds six trace lines.
	pipeBytes = 1 << 20
)

// newPump returns the pump and the end of the pipe that the program writes to.
func newPump(dst io.Writer, opts *gctrace.Options) (*pump, *os.File, error) {
	alarm, err := newAlarm()
	if err != nil {
		return nil, nil, err
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_DIRECT); err != nil {
		alarm.close()
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	_, _ = unix.FcntlInt(uintptr(fds[0]), unix.F_SETPIPE_SZ, pipeBytes) // a smaller pipe works, too
	p := &pump{
		r: os.NewFile(uintptr(fds[0]), "|program"), fd: fds[0], filter: gctrace.NewFilter(dst, opts),
		buf: make([]byte, 64<<10), alarm: alarm, asked: make(chan chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if size, err := unix.FcntlInt(uintptr(fds[0]), unix.F_GETPIPE_SZ, 0); err == nil {
		p.room = size / os.Getpagesize()
	}
	// Only our end, and after NewFile, which would put it into the runtime's
	// poller and so wake us for every packet. The program's end must block.
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return p, os.NewFile(uintptr(fds[1]), "program|"), nil
}

// run carries, and says when it is done. It does not when the reader of the
// output panics: folio must not go on, and end well, while the panic is on its way.
func (p *pump) run() {
	defer p.r.Close()
	p.carry()
	close(p.done)
}

// carry ends when the program and all its descendants closed the stream, or
// when stop is closed and the pipe is empty.
func (p *pump) carry() {
	nap := minNap
	var held time.Duration // how long the stream was silent with something held back
	for {
		var reply chan struct{}
		select {
		case reply = <-p.asked:
		default:
		}
		packets, end := p.drain()
		if reply != nil {
			close(reply)
		}
		if end {
			return
		}
		if packets > 0 {
			held = 0
		} else if p.isStopped() {
			p.err = p.filter.End()
			return
		}
		nap = p.nap(nap, packets)
		held += p.wait(packets, nap)
		if p.filter.Held() && held >= p.patience() {
			if p.err = p.filter.Flush(); p.err != nil {
				return
			}
		}
	}
}

// nap returns how long to wait for the next look when packets came since the
// last, which was as long ago as last: until the pipe is a third full if that
// goes on. It grows step by step, since programs print in bursts.
func (p *pump) nap(last time.Duration, packets int) time.Duration {
	nap := min(2*last, maxNap)
	if packets > 0 {
		nap = min(nap, last*time.Duration(p.room)/time.Duration(3*packets))
	}
	return max(nap, minNap)
}

// drain passes on all that is in the pipe and says whether the stream has ended.
func (p *pump) drain() (packets int, end bool) {
	for {
		n, err := readNow(p.fd, p.buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return packets, false
		case err != nil:
			p.err = os.NewSyscallError("read the program's output", err)
			return packets, true
		case n == 0:
			p.err = p.filter.End()
			return packets, true
		}
		packets++
		if _, err := p.filter.Write(p.buf[:n]); err != nil {
			// Nobody reads our output any more. Closing the pipe lets the program
			// find out as it would have without us, by SIGPIPE.
			p.err = err
			return packets, true
		}
	}
}

// readNow reads what is there from a descriptor that does not block. Unlike
// unix.Read it does not tell the Go scheduler, which would wake a thread to
// watch over a call that takes a microsecond.
func readNow(fd int, buf []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])),
		uintptr(len(buf))) // Safety: buf outlives the call.
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// wait lets time pass until it is worth looking again, and returns how much of
// it the stream was silent for certain.
func (p *pump) wait(packets int, nap time.Duration) time.Duration {
	if p.alarm.rung.Load() || packets >= p.room*3/4 {
		fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(fds, int(maxNap.Milliseconds())); n == 0 {
			return maxNap
		}
		return 0
	}
	if len(p.asked) > 0 {
		return 0
	}
	nap = untilTick(nap)
	p.alarm.wait(nap)
	if p.alarm.rung.Load() {
		return 0
	}
	return nap
}

// look returns when what is in the pipe now has been carried, unless whoever
// reads it takes his time.
func (p *pump) look() {
	reply := make(chan struct{})
	select {
	case p.asked <- reply:
	case <-p.done:
		return
	case <-time.After(quiet):
		return
	}
	p.alarm.set(1)
	select {
	case <-reply:
	case <-p.done:
	case <-time.After(quiet):
	}
}

// patience is how long what is held back may be.
func (p *pump) patience() time.Duration {
	if p.filter.Begun() {
		return quiet
	}
	return brief
}

func (p *pump) isStopped() bool { return isClosed(p.stop) }

// finish waits for the end of the stream, which comes when its last writer is
// gone. A descriptor that a process outside the tree holds would keep it open
// for ever; so after a while the pipe is given up.
func (p *pump) finish() error {
	if isClosed(p.done) {
		p.alarm.close()
		return p.err
	}
	p.alarm.ring()
	select {
	case <-p.done:
	case <-time.After(time.Second):
		if !isClosed(p.stop) {
			close(p.stop)
		}
		<-p.done
	}
	p.alarm.close()
	return p.err
}
