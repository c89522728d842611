package procmem

import (
	"fmt"
	"os"

	"github.com/foliomem/folio/internal/system/sys"
)

// pages are the page tables of a process.
type pages struct {
	*sys.Pagemap
	into []sys.Region
}

func openPages(path string) (*pages, error) {
	p, err := sys.OpenPagemapFile(path)
	if err != nil {
		return nil, err
	}
	return &pages{p, make([]sys.Region, 512)}, nil
}

// count fills what a mapping has in memory.
func (p *pages) count(m *Mapping) error {
	if m.Start >= 1<<63 {
		return nil // [vsyscall], which is not of the process
	}
	scan, own := p.ScanFiles, m.private()
	if own {
		scan = p.Scan
	}
	for at, end := uintptr(m.Start), uintptr(m.End); at < end; {
		n, next, err := scan(at, end, p.into)
		if err == nil && next <= at {
			err = fmt.Errorf("stands still at %#x", at)
		}
		if err != nil {
			return fmt.Errorf("PAGEMAP_SCAN: %w", err)
		}
		for _, r := range p.into[:n] {
			size := r.End - r.Start
			switch {
			case r.Category&sys.Present == 0:
				m.Swap += size
				continue
			case r.Category&sys.ZeroPage != 0:
				continue
			}
			m.Rss += size
			if r.Category&sys.Huge != 0 {
				m.Huge += size
			}
			if own || r.Category&sys.File == 0 {
				m.Anonymous += size
			}
		}
		at = next
	}
	return nil
}

// alive returns an error if the process that the page tables are of has ended, or began
// another program. A page of it is at at.
func (p *pages) alive(at uint64) error {
	n, err := p.Read(uintptr(at), os.Getpagesize(), make([]sys.Entry, 1))
	if err == nil && n == 0 {
		err = errNotCounted
	}
	return err
}
