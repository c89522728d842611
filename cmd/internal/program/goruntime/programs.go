package goruntime

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/procmem"
)

// errNotGo says that a program has nothing of Go.
var errNotGo = fmt.Errorf("not a Go program: %w", executable.ErrNotGo)

// A Program is what the file of a program says of its runtime: it is the same in all
// processes of the program.
type Program struct {
	version string
	l       *layout.Layout
	at      *layout.Globals
	entry   uint64
	code    []byte // what the process must have at at.Code
	dynamic bool   // it can load libraries
}

// Find finds the runtime in a program's file.
func Find(f *symbol.File) (*Program, error) { return find(f, layout.Locate) }

func find(f *symbol.File, locate func(*symbol.File, *layout.Layout) (*layout.Globals, error)) (*Program, error) {
	if !f.IsGo() {
		if err := f.Foreign(); err != nil {
			return nil, err
		}
		return nil, errNotGo
	}
	layout.Identify(f)
	version := f.GoVersion()
	l, err := layout.For(version, f.Machine())
	if err != nil {
		if foreign := f.Foreign(); foreign != nil {
			return nil, fmt.Errorf("%w (%w)", foreign, layout.ErrUnknown)
		}
		return nil, err
	}
	if !f.HasTable() {
		return nil, errors.New("its table of functions cannot be read")
	}
	at, err := locate(f, l)
	if err != nil {
		return nil, err
	}
	code := f.Bytes(at.Code, 64)
	if len(code) == 0 {
		return nil, ErrOtherProgram
	}
	return &Program{version: version, l: l, at: at, entry: f.Entry(), code: append([]byte(nil), code...), dynamic: dynamic(f)}, nil
}

// dynamic reports whether a program has a dynamic linker, without which it loads nothing.
func dynamic(f *symbol.File) bool {
	return slices.ContainsFunc(f.ELF().Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// Programs remembers what was found in the files of programs, so that each is read once,
// however many processes there are of it: [Find] takes milliseconds. A file is another one
// once it was written. Its zero value is ready, and for several goroutines at a time.
type Programs struct {
	mu    sync.Mutex
	known map[identity]*found
}

// A found is what [Find] returns.
type found struct {
	once    sync.Once
	program *Program
	err     error
}

// mostPrograms bounds what is remembered: a tree that compiles a program before each run of
// it must not fill the memory.
const mostPrograms = 1024

// Attach is [Attach] for a Target of which [Target.ReadGC] is read, and nothing else.
func (p *Programs) Attach(fs procmem.FS, pid int) (*Target, error) {
	exe, info, err := input.Open(fs.ExePath(pid))
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	program, err := p.find(exe, info)
	if err != nil {
		return nil, err
	}
	return program.attach(fs, pid, os.O_RDONLY)
}

// Learn looks at the file of a program, which [Programs.Attach] then knows of a process of it.
func (p *Programs) Learn(exe *os.File) {
	if info, err := exe.Stat(); err == nil {
		_, _ = p.find(exe, info)
	}
}

func (p *Programs) find(exe *os.File, info os.FileInfo) (*Program, error) {
	id, ok := identify(info)
	if !ok {
		return findIn(exe, info.Size())
	}
	f := p.of(id)
	f.once.Do(func() { f.program, f.err = findIn(exe, info.Size()) })
	return f.program, f.err
}

func (p *Programs) of(id identity) *found {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.known[id]
	if f == nil {
		if p.known == nil || len(p.known) == mostPrograms {
			p.known = make(map[identity]*found)
		}
		f = &found{}
		p.known[id] = f
	}
	return f
}

func findIn(exe *os.File, size int64) (*Program, error) {
	f, err := open(exe, size)
	if err != nil {
		return nil, err
	}
	return find(f, layout.LocateGC)
}
