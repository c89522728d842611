//go:build !linux

package collapser

import (
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/system/page"
)

// live is never made here: page.OpenProcess fails.
type live struct {
	system  *inspect.System
	pid     int
	process *page.Process
	all     bool
}

func (*live) close() error                             { return nil }
func (*live) windows() ([]page.Window, uint64, error)  { return nil, 0, page.ErrNotSupported }
func (*live) noHuge() ([]page.Range, error)            { return nil, page.ErrNotSupported }
func (*live) optedOut() (bool, error)                  { return false, page.ErrNotSupported }
func (*live) resident() (uint64, error)                { return 0, page.ErrNotSupported }
func (*live) faults() (minor, major uint64, err error) { return 0, 0, page.ErrNotSupported }
func (*live) collapse(page.Range, float64) (page.Collapsed, error) {
	return page.Collapsed{}, page.ErrNotSupported
}

func word(err error) string { return err.Error() }
