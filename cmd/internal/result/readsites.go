package result

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Asked is what keeps memory is to be read of: a process, or, with Diff, the file of a heap
// profile.
type Asked struct {
	PID        int
	File       string // instead of the process
	Heap       bool
	Diff       string // the file of an earlier heap profile; "" for none
	Goroutines bool
}

// ReadSites reads what keeps the memory of a process: by its heap profile, against an earlier
// one, by its goroutines. The heap profile is for go tool pprof, nil where it is not asked for,
// and is there although it cannot be compared.
func ReadSites(ctx context.Context, folio string, ask Asked) (_ *Sites, heap []byte, err error) {
	var before, after *profile.Profile
	if ask.Diff != "" {
		if before, err = readHeapFile(ask.Diff); err != nil {
			return nil, nil, err
		}
	}
	if ask.File != "" {
		if after, err = readHeapFile(ask.File); err != nil {
			return nil, nil, err
		}
		file := NewSites(folio, KindSites, 0, nil, "")
		return file, nil, file.compareHeaps(before, after)
	}
	s, pid := inspect.New(), ask.PID
	runtimes, err := attach(s, pid)
	if err != nil {
		return nil, nil, err
	}
	defer runtimes.Close()
	read := runtimes.Readable()
	command, _ := s.FS.Cmdline(pid)
	file := NewSites(folio, KindSites, pid, command, "")
	file.setRuntimes(runtimes.All())
	if ask.Heap || ask.Diff != "" {
		if after, err = callsite.ReadHeap(ctx, read, time.Now()); err != nil {
			return nil, nil, fmt.Errorf("heap profile of process %d: %w", pid, err)
		}
		file.Notes = append(file.Notes, after.Comments...)
	}
	if ask.Heap {
		var b bytes.Buffer
		if err := callsite.Write(&b, after); err != nil {
			return nil, nil, err
		}
		heap = b.Bytes()
	}
	switch {
	case before != nil:
		err = file.compareHeaps(before, after)
	case after != nil:
		var d *callsite.Diff
		if d, err = callsite.Compare(&profile.Profile{SampleType: after.SampleType, Period: after.Period}, after); err == nil {
			file.SetHeap(d, after.Period)
		}
	}
	if err == nil && ask.Goroutines {
		var g *callsite.Goroutines
		if g, err = callsite.ReadAllGoroutines(ctx, read); err == nil {
			file.SetGoroutines(g)
		}
	}
	if err != nil {
		return nil, heap, fmt.Errorf("process %d: %w", pid, err)
	}
	return file, heap, nil
}

// attach prepares to read the runtimes of a process, of which at least one can be.
func attach(s *inspect.System, pid int) (*goruntime.Runtimes, error) {
	if err := s.Check(pid); err != nil {
		return nil, inspect.Failed(pid, err)
	}
	runtimes := goruntime.NewRuntimes(s.FS, pid)
	err := runtimes.Update()
	if err == nil && len(runtimes.Readable()) > 0 {
		return runtimes, nil
	}
	all := runtimes.All()
	runtimes.Close()
	switch {
	case errors.Is(err, goruntime.ErrGone):
		return nil, inspect.Failed(pid, procmem.ErrNoProcess)
	case procmem.Gone(err):
		return nil, inspect.Failed(pid, s.FS.Unseen(pid, err))
	case err != nil:
	case len(all) == 0:
		err = fmt.Errorf("not a Go program, and it loads no Go library: %w", executable.ErrNotGo)
	case all[0].Main:
		err = all[0].Err
	default:
		err = fmt.Errorf("%s: %w", all[0].Name(), all[0].Err)
	}
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("read the runtime of process %d: %s", pid, s.FS.Denied(pid))
	}
	return nil, fmt.Errorf("read the runtime of process %d: %w", pid, err)
}

func (f *Sites) compareHeaps(before, after *profile.Profile) error {
	d, err := callsite.Compare(before, after)
	if err != nil {
		return fmt.Errorf("compare heap profiles: %w", err)
	}
	f.SetGrowth(d)
	return nil
}

func readHeapFile(path string) (p *profile.Profile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if p, err = callsite.Parse(file); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return p, err
}
