package trial

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// files are the program's streams as folio holds them.
type files struct {
	outputs    [2]*output // nil: it is the program's alone
	collectors [2]*metric.Collector
	tails      [2]*tail
	lines      *gctrace.Counter // nil: nobody asked for a trace
	pass       []*os.File       // stdin, stdout, stderr of the program
}

// stream makes output stream i (0 is standard output): figures are collected
// from it, its end is kept, and it goes on to dst unless that is nil.
func (f *files) stream(i int, dst io.Writer, spec *metric.Spec) error {
	f.tails[i] = new(tail)
	f.collectors[i] = new(metric.Collector)
	if spec != nil {
		f.collectors[i].Pattern = spec.Pattern
	}
	sinks := []io.Writer{f.collectors[i], f.tails[i]}
	if i == 1 && f.lines != nil {
		sinks = append(sinks, f.lines)
	}
	if dst != nil {
		sinks = append(sinks, dst)
	}
	o, w, err := newOutput(io.MultiWriter(sinks...), dst != nil)
	if err != nil {
		return err
	}
	f.outputs[i] = o
	f.pass = append(f.pass, w)
	return nil
}

// give gives the program a file of folio's own as output stream i.
func (f *files) give(i int, file *os.File) error {
	f.tails[i], f.collectors[i] = new(tail), new(metric.Collector)
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("dup", err)
	}
	f.pass = append(f.pass, os.NewFile(uintptr(fd), file.Name()))
	return nil
}

// carry begins to carry.
func (f *files) carry() {
	for _, o := range f.outputs {
		if o != nil {
			background(o.run)
		}
	}
}

// finish waits for the end of the streams, and returns why they could not be passed on. That
// the reader of the output went away (head, for example) is the program's business: it was told
// in its turn.
func (f *files) finish() error {
	var errs []error
	for _, o := range f.outputs {
		if o == nil {
			continue
		}
		if err := o.finish(); err != nil && !errors.Is(err, unix.EPIPE) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// tail returns the end of standard error, or of standard output when there is none, or when that
// alone says why: what is likely to explain a failure.
func (f *files) tail() string {
	out, text := f.tails[0].String(), f.tails[1].String()
	_, ofOut := reasonIn(out)
	if _, rank := reasonIn(text); text == "" || ofOut < rank {
		return out
	}
	return text
}

func (f *files) closePassed() {
	for _, x := range f.pass {
		x.Close()
	}
	f.pass = nil
}

// An output carries one output stream of the program to where it belongs.
type output struct {
	r    *os.File
	dst  io.Writer
	seen bool        // somebody waits for it
	over atomic.Bool // nothing writes to it any more
	done chan struct{}
	err  error // why output could not be passed on
}

// pipeBytes is the largest pipe that an unprivileged user may have.
const pipeBytes = 1 << 20

// newOutput returns the output and the end of the pipe that the program writes to.
func newOutput(dst io.Writer, seen bool) (*output, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	_, _ = unix.FcntlInt(r.Fd(), unix.F_SETPIPE_SZ, pipeBytes) // a smaller pipe works, too
	// Fd made it block; the runtime is to wait for it.
	if err := unix.SetNonblock(int(r.Fd()), true); err != nil {
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return &output{r: r, dst: dst, seen: seen, done: make(chan struct{})}, w, nil
}

// run carries, and says when it is done. It does not when the reader of the
// output panics: folio must not go on, and end well, while the panic is on its way.
func (o *output) run() {
	defer o.r.Close()
	o.carry()
	close(o.done)
}

// carry ends when the program and all its descendants closed the stream, or when finish gives it
// up.
func (o *output) carry() {
	buf := make([]byte, 64<<10)
	read := o.r.Read
	for {
		n, err := read(buf)
		if n > 0 {
			if _, err := o.dst.Write(buf[:n]); err != nil {
				// Nobody reads our output any more. Closing the pipe lets the program
				// find out as it would have without us, by SIGPIPE.
				o.err = err
				return
			}
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded): // given up, but for what is there
			read = o.readNow
			continue
		case err == io.EOF:
			return
		case err != nil:
			o.err = err
			return
		}
		// Every time that folio wakes up it takes a processor from the program. For output
		// that nobody sees it does so when there is a good deal of it.
		if !o.seen && n < len(buf) && !o.over.Load() {
			time.Sleep(beat)
		}
	}
}

// readNow reads what is there, or nothing, which is the end.
func (o *output) readNow(buf []byte) (n int, err error) {
	if err := o.r.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	conn, err := o.r.SyscallConn()
	if err != nil {
		return 0, err
	}
	bad := conn.Read(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), buf)
		return true
	})
	if n <= 0 {
		return 0, io.EOF
	}
	return n, bad
}

// finish waits for the end of the stream, which comes when its last writer is
// gone. A descriptor that a process outside the tree holds would keep it open
// for ever; so after a while the pipe is given up.
func (o *output) finish() error {
	o.over.Store(true)
	select {
	case <-o.done:
	case <-time.After(time.Second):
		_ = o.r.SetReadDeadline(time.Now())
		<-o.done
	}
	return o.err
}
