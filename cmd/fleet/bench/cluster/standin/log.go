package standin

import (
	"context"
	"io"
	"sync"
)

// A log is what a container wrote. It is read while it grows.
type log struct {
	mu     sync.Mutex
	data   []byte
	closed bool
	grown  chan struct{} // closed when there is more
}

func newLog() *log { return &log{grown: make(chan struct{})} }

// Write appends to the log.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.data = append(l.data, p...)
	l.wake()
	return len(p), nil
}

func (l *log) wake() {
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake()
}

// open returns a reader; with follow it waits for what comes until the container ends.
func (l *log) open(ctx context.Context, follow bool) io.ReadCloser {
	ctx, stop := context.WithCancel(ctx)
	return &logReader{log: l, ctx: ctx, stop: stop, follow: follow}
}

type logReader struct {
	log    *log
	ctx    context.Context
	stop   context.CancelFunc
	at     int
	follow bool
}

// Read waits for more where the reader follows.
func (r *logReader) Read(p []byte) (int, error) {
	for {
		r.log.mu.Lock()
		n, closed, grown := copy(p, r.log.data[r.at:]), r.log.closed, r.log.grown
		r.log.mu.Unlock()
		switch {
		case n > 0:
			r.at += n
			return n, nil
		case closed || !r.follow:
			return 0, io.EOF
		}
		select {
		case <-grown:
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
}

// Close ends a Read that waits.
func (r *logReader) Close() error {
	r.stop()
	return nil
}
