//go:build linux && !amd64 && !arm64

package spawn

// prepareStub returns nil: there is no stub for this architecture.
func (p *Program) prepareStub() (*Process, error) { return nil, nil }

func (p *Process) release() (pid int, err error) { panic("spawn: there is no stub") }
