//go:build !linux

package page

func openProcess(int) (*Process, error) { return nil, errLinux }
func (p *Process) mayCollapse() error   { return errLinux }
