//go:build !linux || !(amd64 || arm64)

package trial

import "errors"

type heapPatch struct{}

func (p *Program) mayHeap() error {
	_, err := p.heapAtExec()
	return err
}

func (p *Program) heapAtExec() (func(pid int) error, error) {
	return nil, p.heapError(errors.New("needs Linux on amd64 or arm64"))
}

func untraced(err error) error { return err }
