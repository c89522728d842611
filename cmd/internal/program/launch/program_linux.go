//go:build linux && (amd64 || arm64)

package launch

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
)

// A Program is a file that can be executed with its patch.
type Program struct {
	Path  string
	Patch *codepatch.Patch
	file  identity
}

// Prepare looks at the program at path. The error is a *codepatch.RefusedError,
// or says why the file cannot be read: then the program must not be traced, and
// is to be run as it is.
func Prepare(path string) (*Program, error) {
	f, _, err := input.Open(path)
	if errors.Is(err, input.ErrNotRegular) {
		return nil, &codepatch.RefusedError{Kind: codepatch.NotELF, Why: "not a regular file"}
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, fmt.Errorf("stat %s: %w", path, err)
	}
	patch, err := find(f, st.Size)
	var refused *codepatch.RefusedError
	if errors.As(err, &refused) && refused.Kind == codepatch.UnknownForm && built(path) {
		return nil, &codepatch.RefusedError{Kind: codepatch.Patched, Why: "folio built it with the patch " + overlay.HeapHugePages}
	}
	if err != nil {
		return nil, err
	}
	if patch.Applied {
		return nil, &codepatch.RefusedError{Kind: codepatch.Patched, Why: "it has the patch already"}
	}
	if why, err := gains(f, &st); err != nil {
		return nil, err
	} else if why != "" {
		return nil, &codepatch.RefusedError{Kind: codepatch.Privileged, Why: why}
	}
	if patch.Arch != runtime.GOARCH {
		return nil, &codepatch.RefusedError{Kind: codepatch.Arch, Why: "a program for " + patch.Arch + ", which does not run here by itself"}
	}
	return &Program{path, patch, identify(&st)}, nil
}

// built tells whether folio built a program so that its heap asks for huge pages.
func built(path string) bool {
	r, err := overlay.ReadFile(path)
	return err == nil && r != nil && slices.ContainsFunc(r.Patches, func(p overlay.Recorded) bool { return p.Name == overlay.HeapHugePages })
}

func find(f *os.File, size int64) (*codepatch.Patch, error) {
	if err := codepatch.Magic(f); err != nil {
		return nil, err
	}
	s, err := symbol.New(f, size, nil)
	if err != nil {
		return nil, &codepatch.RefusedError{Kind: codepatch.NotELF, Why: err.Error()}
	}
	return codepatch.Find(s)
}

func identify(st *unix.Stat_t) identity {
	return identity{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Sec, st.Ctim.Sec, st.Mtim.Nsec, st.Ctim.Nsec}
}

// job prepares the work. proc is a descriptor of the process's directory.
func (p *Program) job(proc int) (*job, error) {
	patch := p.Patch
	j := &job{proc: proc, file: p.file, entry: patch.Entry, movable: patch.Movable, syscallReturn: patch.Proof.SyscallReturn}
	j.regs.init()
	for _, c := range []codepatch.Code{patch.Proof.MapOS, patch.Proof.NoHugePageOS, patch.Proof.HugePageOS,
		{Address: j.syscallReturn, Bytes: returnCode}} {
		b := &j.checks[j.nchecks]
		if len(c.Bytes) > len(b.bytes) {
			return nil, fmt.Errorf("%s has %d bytes of code", c.Name, len(c.Bytes))
		}
		b.address, b.n = c.Address, copy(b.bytes[:], c.Bytes)
		j.nchecks++
	}
	for _, e := range patch.Edits {
		if j.nedits == len(j.edits) || len(e.Old) != len(e.New) || len(e.Old) > len(j.edits[0].old) {
			return nil, errors.New("the patch has more edits than expected")
		}
		d := &j.edits[j.nedits]
		d.address, d.n = e.Address, copy(d.old[:], e.Old)
		copy(d.new[:], e.New)
		j.nedits++
	}
	return j, nil
}

// Apply changes the code of a process that the calling thread traces, and that
// is stopped at its exec of the program. If it returns an error, the process is
// as it was, and can be detached from; only when its memory cannot be put back
// it is ended.
func (p *Program) Apply(pid int) error {
	proc, err := unix.Open("/proc/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /proc/%d: %w", pid, err)
	}
	defer unix.Close(proc)
	j, err := p.job(proc)
	if err != nil {
		return err
	}
	o := j.apply(pid)
	runtime.KeepAlive(j)
	if o == halfWritten {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	return o.err()
}

func (o outcome) err() error {
	switch o {
	case done:
		return nil
	case replaced:
		return errors.New("another file was executed than the one that was checked")
	case unknownPlace:
		return errors.New("where the program was loaded cannot be read in /proc")
	case otherCode:
		return errors.New("its memory holds other code than its file")
	case gone:
		return errors.New("it ended before it ran")
	case halfWritten:
		return errors.New("its code could not be put back in memory: ended with SIGKILL")
	}
	return errors.New("its code cannot be changed in memory")
}
