package page

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/sys"
)

// remote is what the kernel says and does about another process. What this
// package cannot do there, it never asks of it.
type remote struct {
	system
	pid, fd int
}

func (r *remote) path(name string) string {
	if file, ok := strings.CutPrefix(name, "proc/self/"); ok {
		name = "proc/" + strconv.Itoa(r.pid) + "/" + file
	}
	return r.system.path(name)
}

func (r *remote) madvise(addr, length uintptr, advice int) error {
	return sys.ProcessMadvise(r.fd, addr, length, advice)
}

func (r *remote) pagemap() (pagemap, error) {
	p, err := sys.OpenPagemap(r.pid)
	if err != nil {
		return nil, err
	}
	// The number could have gone to another process before it was opened.
	if !sys.Alive(r.fd) {
		return nil, errors.Join(unix.ESRCH, p.Close())
	}
	return p, nil
}

func (r *remote) readMemory(dst []byte, addr uintptr) (int, error) {
	return sys.ReadProcessMemory(r.pid, dst, addr)
}

// thpDisabled does not say: only a process itself can ask for its flags.
func (r *remote) thpDisabled() (int, error) { return 0, unix.ENOSYS }

func openProcess(pid int) (*Process, error) {
	fd, err := sys.OpenProcess(pid)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL) && pid <= 0:
		return nil, fmt.Errorf("no such process: %w", os.ErrProcessDone)
	case errors.Is(err, unix.ENOSYS):
		return nil, fmt.Errorf("pidfd_open: %w: needs Linux 5.3 or newer: %w", ErrNotSupported, err)
	case err != nil:
		return nil, fmt.Errorf("pidfd_open: %w", err)
	}
	return &Process{sys: &remote{host, pid, fd}, close: func() error { return unix.Close(fd) }}, nil
}

func (p *Process) mayCollapse() error {
	if err := p.sys.have(feature.Collapse); errors.Is(err, ErrNotSupported) {
		return err
	}
	r, _ := p.sys.(*remote)
	switch err := p.sys.madvise(0, 0, unix.MADV_COLLAPSE); {
	case r != nil && (err == unix.EPERM || err == unix.EACCES):
		return r.denied(err)
	case errors.Is(err, unix.ESRCH):
		return fmt.Errorf("it has ended: %w", os.ErrProcessDone)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("process_madvise: %w: needs Linux 5.10 or newer: %w", ErrNotSupported, err)
	default:
		return err
	}
}
