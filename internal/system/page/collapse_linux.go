package page

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
)

const (
	defaultDensity = 0.5
	collapseTries  = 4 // while the kernel says EAGAIN
	collapseBatch  = 64
)

func collapseRange(s system, r Range, o *CollapseOptions) (c Collapsed, err error) {
	var own CollapseOptions
	if o != nil {
		own = *o
	}
	if !(own.MinDensity >= 0 && own.MinDensity <= 1) {
		return c, fmt.Errorf("option MinDensity is %v: want a share from 0 to 1", own.MinDensity)
	}
	if own.MinDensity == 0 {
		own.MinDensity = defaultDensity
	}
	size := uintptr(s.hugeSize())
	if size == 0 {
		return c, noTHP(s)
	}
	if err := s.have(feature.Collapse); errors.Is(err, ErrNotSupported) {
		return c, err
	}
	r = r.Inward(int(size))
	if own.AnyDensity {
		for at := r.Start; at < r.End; at += size {
			if own.Stop != nil && own.Stop(c) {
				return c, nil
			}
			collapseWindow(s, Range{at, at + size}, &c)
		}
		return c, nil
	}
	// Density is looked at just before it is acted upon, a few windows at a time.
	var batch [collapseBatch]Window
	for r.Len() > 0 {
		part := Range{r.Start, r.Start + min(r.Len(), collapseBatch*size)}
		r.Start = part.End
		windows, err := windowsOf(s, part, int(size), batch[:0])
		if err != nil {
			return c, err
		}
		c.Empty += int(part.Len()/size) - len(windows)
		for _, w := range windows {
			switch {
			case w.Huge == uint64(size):
				c.Already++
				continue
			case w.Resident == 0:
				c.Empty++
				continue
			case w.Density() < own.MinDensity:
				c.Sparse++
				continue
			}
			if own.Stop != nil && own.Stop(c) {
				return c, nil
			}
			collapseWindow(s, w.Range, &c)
		}
	}
	return c, nil
}

// collapseWindow makes one window a huge page. The kernel takes pages that it is
// using itself just now for a reason to fail; a moment later they are free.
func collapseWindow(s system, w Range, c *Collapsed) {
	var err error
	for range collapseTries {
		if err = s.madvise(w.Start, w.Len(), unix.MADV_COLLAPSE); !errors.Is(err, unix.EAGAIN) {
			break
		}
	}
	if err != nil {
		c.Refused++
		c.Reason = w.failed("collapse", explainCollapse(s, err))
		return
	}
	c.Collapsed++
}
