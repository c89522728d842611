package page

import "fmt"

// Process is another process, whose memory is looked at and collapsed from
// outside. It need not know, and is not stopped. Its methods may be called by many
// goroutines at once, except Close.
type Process struct {
	sys   system
	close func() error
}

// OpenProcess opens a process by its number. It stays the same process: once it
// has ended, the methods fail. Needs kernel 5.3.
func OpenProcess(pid int) (*Process, error) {
	p, err := openProcess(pid)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	return p, nil
}

// Close lets go of the process.
func (p *Process) Close() error { return p.close() }

// MayCollapse says what forbids Collapse, and how to get it: nil if nothing does. It
// needs CAP_SYS_NICE even for a process of the same user, and
// CAP_SYS_PTRACE for one of another.
func (p *Process) MayCollapse() error {
	if err := p.mayCollapse(); err != nil {
		return fmt.Errorf("collapse memory of another process: %w", err)
	}
	return nil
}

// Collapse is [Range.Collapse] for memory of the process, by process_madvise:
// kernel 6.1. Where MayCollapse is an error, all windows are refused.
func (p *Process) Collapse(r Range, o *CollapseOptions) (Collapsed, error) {
	c, err := collapseRange(p.sys, r, o)
	return c, r.failed("collapse", err)
}

// Residency is [Range.Residency] for memory of the process.
func (p *Process) Residency(r Range, o *ResidencyOptions) (Residency, error) {
	res, err := residencyRange(p.sys, r, o)
	return res, r.failed("residency", err)
}
