//go:build !linux

package page

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/foliomem/folio/internal/base/unit"
)

// system is nothing: all of this needs Linux.
type system struct{}

var host system

var errLinux = fmt.Errorf("%w on %s: needs Linux", ErrNotSupported, runtime.GOOS)

func (system) pageSize() int { return os.Getpagesize() }
func (system) hugeSize() int { return 0 }

func windowSize(s system) int                         { return s.pageSize() * (s.pageSize() / 8) }
func pageSizes(system, Kind) ([]int, error)           { return nil, errLinux }
func allowed(system, Kind, int) error                 { return errLinux }
func unmap(system, Range) error                       { return errLinux }
func adviseRange(system, Range, Advice) error         { return errLinux }
func populateRange(system, Range, bool) error         { return errLinux }
func commitRange(system, []byte, Range, bool) error   { return errLinux }
func releaseRange(system, Range, Release, bool) error { return errLinux }
func collapseRange(system, Range, *CollapseOptions) (Collapsed, error) {
	return Collapsed{}, errLinux
}
func residencyRange(system, Range, *ResidencyOptions) (Residency, error) {
	return Residency{}, errLinux
}

func mapMemory(_ system, size int, o *Options) (*Mapping, error) {
	if size <= 0 {
		return nil, errors.New("map: the size must be positive")
	}
	return nil, fmt.Errorf("map %s: %w", unit.Exact(uint64(size)), errLinux)
}
