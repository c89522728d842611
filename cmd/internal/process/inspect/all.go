package inspect

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Row is what is seen of a process among all.
type Row struct {
	PID       int
	Command   []string
	Name      string
	UID       *int
	GoVersion string // "" if it is not a Go program

	Resident uint64
	Windows  Windows // of its Go heap, else of its anonymous memory
}

// A List is all processes that have something to gain or have gained it, those with the
// most to gain first.
type List struct {
	Rows []Row
	// Small is how many have less than a window of anonymous memory. They are not
	// looked at.
	Small int
	// Denied is how many could not be looked at, and DeniedBytes their anonymous
	// memory.
	Denied      int
	DeniedBytes uint64
	// Hidden says what hides further processes in /proc, and how to see them; "" for nothing.
	Hidden string
}

// List looks at all processes. Those that end meanwhile are left out.
func (s *System) List(ctx context.Context, minDensity float64) (*List, error) {
	if minDensity == 0 {
		minDensity = MinDensity
	}
	hidden, err := s.FS.Unlisted()
	if err != nil {
		return nil, err
	}
	pids, err := s.FS.PIDs()
	if err != nil {
		return nil, err
	}
	l := &List{Hidden: hidden}
	self := os.Getpid()
	for _, pid := range pids {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if pid != self {
			l.look(s, pid, minDensity)
		}
	}
	slices.SortStableFunc(l.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Windows.Gain, a.Windows.Gain), cmp.Compare(b.Windows.Resident, a.Windows.Resident))
	})
	return l, nil
}

func (l *List) look(s *System, pid int, minDensity float64) {
	status, err := s.FS.Status(pid)
	if err != nil || status.VmRSS == nil {
		return // it ended, is ending, or is a thread of the kernel
	}
	anon := *status.VmRSS
	if status.RssAnon != nil {
		anon = *status.RssAnon
	}
	if anon < uint64(page.WindowSize()) {
		l.Small++
		return
	}
	r := Row{PID: pid, UID: status.UID, Resident: *status.VmRSS}
	err = s.fillRow(&r, status, minDensity)
	switch {
	case errors.Is(err, fs.ErrPermission):
		l.Denied++
		l.DeniedBytes += anon
	case err == nil && r.Windows.Resident > 0:
		l.Rows = append(l.Rows, r)
	}
}

func (s *System) fillRow(r *Row, status procmem.Status, minDensity float64) error {
	st, err := s.FS.Stat(r.PID)
	if err != nil {
		return err
	}
	r.Name = st.Comm
	r.Command, _ = s.FS.Cmdline(r.PID) // Name is left
	version, _, isGo, err := s.Program(r.PID)
	if err != nil {
		return err
	}
	r.GoVersion = version
	ranges, err := s.Areas(r.PID, !isGo)
	if errors.Is(err, heapmap.ErrNotFound) {
		ranges, err = s.Areas(r.PID, true)
	}
	if err != nil {
		return err
	}
	p, err := page.OpenProcess(r.PID)
	if err != nil {
		return err
	}
	defer p.Close()
	windows, cut, err := Scan(p, ranges)
	if err != nil {
		return err
	}
	r.Windows = Summarize(windows, cut, minDensity, nil)
	if r.Windows.Gain == 0 {
		return nil
	}
	// Is it forbidden where there is something to gain? Only smaps tells.
	noHuge, err := s.NoHuge(r.PID)
	if err != nil {
		return err
	}
	if status.THPDisabled() {
		noHuge = ranges
	}
	r.Windows = Summarize(windows, cut, minDensity, noHuge)
	return nil
}

// NoHuge returns the ranges of a process that it advised against huge pages, ascending.
func (s *System) NoHuge(pid int) (out []page.Range, err error) {
	mappings, err := s.FS.Mappings(pid)
	for _, m := range mappings {
		if m.AdviseNoHuge {
			out = join(out, page.Range{Start: uintptr(m.Start), End: uintptr(m.End)})
		}
	}
	return out, err
}
