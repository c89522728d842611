//go:build linux && (amd64 || arm64)

package witness

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/launch"
)

// A Program is a file, in one state: all executions of it have the same one, in any tree.
type Program struct {
	Path string // from the root of this process; as it was when first executed
	// GoVersion is the release of Go that built it, "" if it is not a Go program, or cannot be
	// read.
	GoVersion string
	// Privileged says why an execution changes privileges, as "it is setuid (...)"; "" if it does not.
	Privileged string

	interpreter string // of a script
	runs        bool   // an ELF file or a script
	unreadable  error

	once sync.Once
	heap *launch.Program
	err  error
}

// IsGo says whether the program is known to be built with Go.
func (p *Program) IsGo() bool { return p.GoVersion != "" }

// Heap is the program with its heap on huge pages: Apply is for [AtExec]. It is looked for once
// in a file, which takes milliseconds for a large one. The error is that of [launch.Prepare].
func (e *Exec) Heap() (*launch.Program, error) {
	p := e.Program
	p.once.Do(func() {
		if p.unreadable != nil {
			p.err = p.unreadable
			return
		}
		p.heap, p.err = launch.Prepare(descriptor(e.file))
	})
	return p.heap, p.err
}

// Open opens the file of the program, which may be used after OnExec has returned.
func (e *Exec) Open() (*os.File, error) { return os.Open(descriptor(e.file)) }

// Name is the last part of the path of the file of the program: a file may have several, as hard
// links are.
func (e *Exec) Name() string { return filepath.Base(pathOf(e.file)) }

// pathOf is the path of an open file, from the root of this process.
func pathOf(fd int) string {
	path, _ := os.Readlink(descriptor(fd))
	return strings.TrimSuffix(path, " (deleted)")
}

func descriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (e *Exec) close() {
	if e != nil {
		closeFile(e.file)
	}
}

// identity tells one state of a file from another.
type identity struct {
	major, minor uint32
	ino, size    uint64
	mtime, ctime unix.StatxTimestamp
}

func identityOf(st *unix.Statx_t) identity {
	return identity{st.Dev_major, st.Dev_minor, st.Ino, st.Size, st.Mtime, st.Ctime}
}

// programOf identifies the file that a process executes.
func programOf(pid int) (identity, error) {
	fd, err := openProc("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return identity{}, err
	}
	defer closeFile(fd)
	st, err := status(fd)
	return identityOf(&st), err
}

// found are the programs of all trees: what is found in a file holds for those that follow, as
// the trials of a search do.
var found programs

// programs are those that were executed.
type programs struct {
	mu   sync.Mutex
	byID map[identity]*Program
}

// of returns nil for a file that was not executed.
func (p *programs) of(id identity) *Program {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byID[id]
}

// lookAt finds out what a call executes; nil for nothing. fresh says that the file has not
// been seen before.
func (t *Tree) lookAt(c *call) (e *Exec, fresh bool) {
	fd, name, err := c.find()
	if err != nil {
		return nil, false
	}
	e = &Exec{Path: name, thread: c.thread, argv: c.argv, file: fd}
	const deepest = 5 // scripts of scripts, as in the kernel
	for range deepest {
		var isNew bool
		if e.Program, isNew = t.program(e.file); e.Program == nil || !e.Program.runs {
			break
		}
		fresh = fresh || isNew
		if e.Program.interpreter == "" {
			e.PID = processOf(c.thread)
			return e, fresh
		}
		next, err := (&call{thread: c.thread}).open(unix.AT_FDCWD, e.Program.interpreter)
		if err != nil {
			break
		}
		closeFile(e.file)
		e.file = next
	}
	e.close()
	return nil, false
}

// program returns what is known of a file; nil if it cannot be executed.
func (t *Tree) program(fd int) (p *Program, fresh bool) {
	const executable = unix.S_IXUSR | unix.S_IXGRP | unix.S_IXOTH
	st, err := status(fd)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&executable == 0 {
		return nil, false
	}
	id := identityOf(&st)
	return t.programs.get(id, func() *Program {
		p, _ := found.get(id, func() *Program { return newProgram(fd) })
		return p
	})
}

// get returns the program of a file, and whether it is made only now.
func (p *programs) get(id identity, make func() *Program) (_ *Program, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.byID[id]; known != nil {
		return known, false
	}
	if p.byID == nil {
		p.byID = map[identity]*Program{}
	}
	p.byID[id] = make()
	return p.byID[id], true
}

func newProgram(fd int) *Program {
	p := &Program{Path: pathOf(fd)}
	r, err := os.Open(descriptor(fd))
	if err != nil {
		// Who may execute it need not be able to read it. It may be anything.
		p.runs, p.unreadable = true, fmt.Errorf("cannot read %s: %w", p.Path, err.(*os.PathError).Err)
		return p
	}
	defer r.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(r.Fd()), &st); err != nil {
		p.unreadable = err
		return p
	}
	p.Privileged = launch.Gains(r, &st)
	head := make([]byte, 4)
	_, _ = r.ReadAt(head, 0)
	switch {
	case bytes.Equal(head, []byte(elf.ELFMAG)):
		p.runs = true
		if b, err := executable.BuildOf(r, st.Size); err == nil {
			p.GoVersion = b.GoVersion
		}
	case bytes.HasPrefix(head, []byte("#!")):
		p.interpreter, _ = executable.Interpreter(r, st.Size)
		p.runs = p.interpreter != ""
	}
	return p
}
