package inspect

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// System is where processes are looked at. It remembers which programs are written
// in Go, so keep it from look to look. Its methods may be called by many goroutines
// at once.
type System struct {
	FS procmem.FS

	find func(pid int) ([]page.Range, error)

	mu       sync.Mutex
	programs []program // few: the programs that run
}

// New returns the running system.
func New() *System { return &System{FS: procmem.New(""), find: heapmap.Find} }

// program is what the file of a process says about itself.
type program struct {
	file            os.FileInfo
	version, module string
	isGo            bool
	foreign         *executable.ForeignError // nil: of go build, or not of Go
	used            time.Time
}

// mostPrograms bounds what is remembered.
const mostPrograms = 1000

// Program returns the version of Go that built the program that a process runs,
// and its main module, "" if it was built outside one. A process of another user
// needs CAP_SYS_PTRACE.
func (s *System) Program(pid int) (version, module string, isGo bool, err error) {
	p, err := s.program(pid)
	return p.version, p.module, p.isGo, err
}

func (s *System) program(pid int) (program, error) {
	path := s.FS.ExePath(pid)
	file, err := os.Stat(path)
	if err != nil {
		return program{}, err
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.programs {
		p := &s.programs[i]
		if os.SameFile(p.file, file) && p.file.ModTime().Equal(file.ModTime()) && p.file.Size() == file.Size() {
			p.used = now
			return *p, nil
		}
	}
	p := program{file: file, used: now}
	p.version, p.module, p.isGo = host.Program(path)
	if f, info, err := input.Open(path); err == nil {
		p.foreign = executable.Foreign(f, info.Size())
		f.Close()
	}
	if p.foreign != nil {
		p.version = "" // garble hides it
	}
	if len(s.programs) < mostPrograms {
		s.programs = append(s.programs, p)
		return p, nil
	}
	oldest := &s.programs[0]
	for i := range s.programs {
		if s.programs[i].used.Before(oldest.used) {
			oldest = &s.programs[i]
		}
	}
	*oldest = p
	return p, nil
}

// FaultTime is how long page faults of a process are counted for a look at it.
const FaultTime = 300 * time.Millisecond

// Wait waits for d; the error is that of a context that ends before.
func Wait(ctx context.Context, d time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
	return ctx.Err()
}
