//go:build !linux || !(amd64 || arm64)

package trial

import "errors"

var errNoHeap = errors.New("needs Linux on amd64 or arm64")

// A Heap is nothing here.
type Heap struct{}

// ReadHeap returns nil.
func ReadHeap(string) *Heap { return nil }

func (p *Program) mayHeap() error {
	_, err := p.heapAtExec()
	return err
}

func (p *Program) heapAtExec() (func(pid int) error, error) {
	return nil, p.heapError(errNoHeap)
}

// SeesTree says why THPHeap changes the program alone here.
func SeesTree() error { return errNoHeap }

func (p *Program) execTree(bool) *execTree { return nil }

func isNotGo(error) bool { return false }

// MayTrace says why no program can be stopped at its exec here.
func MayTrace() error { return errNoHeap }

func untraced(err error) error { return err }
