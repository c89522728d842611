package oom

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/shortage"
)

// A Saver saves what [Run] saves of a process, when it is told to.
type Saver struct{ o *watcher }

// NewSaver prepares saves of a process. Until the first one nothing is read or kept of it.
func NewSaver(pid int, options Options) (*Saver, error) {
	if err := writable(options.Save); err != nil {
		return nil, err
	}
	sweepSaves(options.Save)
	return &Saver{&watcher{Options: options, fs: procmem.New(""), sys: inspect.New(), pid: pid}}, nil
}

// Save saves now. why is the reason that is said and written; what cannot be saved is said. It is
// always called by the same goroutine. An error is of the standard output or standard error.
func (s *Saver) Save(ctx context.Context, why string) error {
	o, at := s.o, time.Now()
	defer goFirst()()
	defer debug.FreeOSMemory()
	if err := o.open(); err != nil {
		return o.Stderr.Line("%s: not saved: %v", why, err)
	}
	defer o.close()
	o.why = why
	return o.save(ctx, o.use(at))
}

// use is how much of its limit the process's cgroup uses; without Limit where it has none.
func (o *watcher) use(at time.Time) shortage.Event {
	e := shortage.Event{At: at}
	l, ok, err := o.fs.MemoryLimit(o.pid)
	if err != nil || !ok || l.Memory.Usage == nil {
		return e
	}
	e.Group, e.Limit, e.Usage = o.fs.Path(l.Dir), l.Bytes, *l.Memory.Usage
	for _, cache := range []*uint64{l.Memory.InactiveFile, l.Memory.ActiveFile} {
		if cache != nil {
			e.Cache += *cache
		}
	}
	e.Use = e.Usage - min(e.Usage, e.Cache)
	return e
}
