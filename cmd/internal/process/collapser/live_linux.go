package collapser

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/sys"
)

// live is a process of the running system.
type live struct {
	system  *inspect.System
	pid     int
	process *page.Process
	all     bool
}

func (l *live) close() error { return l.process.Close() }

func (l *live) windows() ([]page.Window, uint64, error) {
	ranges, err := l.system.Areas(l.pid, l.all)
	if err != nil {
		return nil, 0, err
	}
	return inspect.Scan(l.process, ranges)
}

func (l *live) noHuge() ([]page.Range, error) { return l.system.NoHuge(l.pid) }

func (l *live) optedOut() (bool, error) {
	s, err := l.system.FS.Status(l.pid)
	return s.THPDisabled(), err
}

func (l *live) resident() (uint64, error) {
	m, err := l.system.FS.Statm(l.pid)
	return m.RSS, err
}

func (l *live) faults() (minor, major uint64, err error) {
	s, err := l.system.FS.Stat(l.pid)
	return s.MinFlt, s.MajFlt, err
}

func (l *live) collapse(r page.Range, minDensity float64) (page.Collapsed, error) {
	if feature.Have(feature.PagemapScan) == nil {
		return l.process.Collapse(r, &page.CollapseOptions{MinDensity: minDensity})
	}
	// Older kernels: package page would read all of smaps for each window.
	density, err := l.density(r)
	switch {
	case err != nil:
		return page.Collapsed{}, err
	case density == 0:
		return page.Collapsed{Empty: 1}, nil
	case density < minDensity:
		return page.Collapsed{Sparse: 1}, nil
	}
	return l.process.Collapse(r, &page.CollapseOptions{AnyDensity: true})
}

// density returns the share of a window that is resident: anonymous pages that are
// mapped here only, which the page of zeros is not.
func (l *live) density(r page.Range) (float64, error) {
	p, err := sys.OpenPagemap(l.pid)
	if err != nil {
		return 0, err
	}
	defer p.Close() // nothing was written
	entries := make([]sys.Entry, int(r.Len())/page.Size())
	n, err := p.Read(r.Start, page.Size(), entries)
	if err != nil {
		return 0, err
	}
	resident := 0
	for _, e := range entries[:n] {
		if e.Present() && e.Exclusive() && !e.File() {
			resident++
		}
	}
	return float64(resident) / float64(len(entries)), nil
}

// word returns the kernel's word for an error, such as ENOMEM.
func word(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
	}
	return "unknown"
}
