package goruntime

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Runtime is a Go runtime in a process: that of the program, or of a library that was
// loaded (-buildmode=c-shared), which has one of its own.
type Runtime struct {
	Path    string // of its file, as the kernel has it
	Main    bool   // it is that of the program
	Build   executable.Build
	Plugins []string // paths of Go plugins, which share the runtime of the program
	// Target reads it; nil where it cannot be read, which Err says why.
	Target *Target
	Err    error

	closer io.Closer
}

// Name is the name of its file.
func (r *Runtime) Name() string { return filepath.Base(strings.TrimSuffix(r.Path, deleted)) }

// Version is the version of Go, "" if unknown.
func (r *Runtime) Version() string {
	switch {
	case r.Target != nil:
		return r.Target.Version()
	case errors.As(r.Err, new(*executable.ForeignError)):
		return ""
	}
	return r.Build.GoVersion
}

// deleted ends the name of a mapped file that was deleted.
const deleted = " (deleted)"

// Runtimes finds the Go runtimes of a process. It is for one goroutine at a time.
type Runtimes struct {
	fs       procmem.FS
	pid      int
	programs *Programs // nil: runtimes have names
	exe      os.FileInfo
	path     string // of exe
	static   bool   // it can load no libraries
	all      []*Runtime
	seen     map[mapped]int
}

// mapped is a file that is mapped from its beginning.
type mapped struct{ start, inode uint64 }

// NewRuntimes prepares to find the runtimes of a process, to be read with names.
func NewRuntimes(fs procmem.FS, pid int) *Runtimes {
	return &Runtimes{fs: fs, pid: pid, seen: make(map[mapped]int)}
}

// Runtimes prepares to find the runtimes of a process of which [Target.ReadGC] is read, and
// nothing else.
func (p *Programs) Runtimes(fs procmem.FS, pid int) *Runtimes {
	r := NewRuntimes(fs, pid)
	r.programs = p
	return r
}

// All are those that were found: the program's first, then libraries in the order in which
// they were found.
func (r *Runtimes) All() []*Runtime { return r.all }

// Readable are those that can be read.
func (r *Runtimes) Readable() (out []*Runtime) {
	for _, g := range r.all {
		if g.Target != nil {
			out = append(out, g)
		}
	}
	return out
}

// Beside returns the runtimes that can be read, to be read while r is. They end with r.
func (r *Runtimes) Beside() *Runtimes {
	out := &Runtimes{fs: r.fs, pid: r.pid}
	for _, g := range r.Readable() {
		other := *g
		other.Target, other.closer = g.Target.Beside(), nil
		out.all = append(out.all, &other)
	}
	return out
}

// Close ends the reading of all.
func (r *Runtimes) Close() (err error) {
	for _, g := range r.all {
		if g.Target != nil {
			err = errors.Join(err, g.Target.Close())
		}
		if g.closer != nil {
			err = errors.Join(err, g.closer.Close())
		}
	}
	r.all = nil
	return err
}

// Update finds the runtimes, and later what was loaded since; what could not be read is
// tried again. The error is that of a process that cannot be looked at. After an exec it is
// [ErrGone].
func (r *Runtimes) Update() error {
	if err := r.begin(); err != nil || r.static {
		return err
	}
	vmas, err := r.fs.Maps(r.pid)
	if err != nil {
		return err
	}
	if read := r.Readable(); len(read) > 0 && !read[0].Target.Alive() { // the mappings may be of another program
		return ErrGone
	}
	r.libraries(vmas)
	return nil
}

// begin looks at the program, once.
func (r *Runtimes) begin() error {
	if r.exe != nil {
		if info, err := os.Stat(r.fs.ExePath(r.pid)); err != nil {
			return err
		} else if !os.SameFile(r.exe, info) {
			return ErrGone
		}
		return nil
	}
	exe, info, err := input.Open(r.fs.ExePath(r.pid))
	if err != nil {
		return err
	}
	keep, err := r.program(exe, info)
	if !keep {
		exe.Close()
	}
	if err == nil {
		r.exe = info
	}
	return err
}

// program looks at the program. It keeps exe where that is read from later.
func (r *Runtimes) program(exe *os.File, info os.FileInfo) (keep bool, err error) {
	r.path, _ = os.Readlink(r.fs.ExePath(r.pid))
	g := &Runtime{Main: true, Path: r.path}
	f, p, err := r.look(exe, info)
	if err == nil {
		r.static = !p.dynamic
		g.Target, err = p.attach(r.fs, r.pid, os.O_RDONLY)
	}
	switch foreign := new(executable.ForeignError); {
	case err == nil:
		keep = g.named(f, exe)
	case procmem.Gone(err), errors.Is(err, ErrGone):
		return false, err
	case errors.Is(err, executable.ErrNotGo) && !errors.As(err, &foreign):
		return false, nil
	default:
		g.Err = err
	}
	g.Build, _ = executable.BuildOf(exe, info.Size())
	r.all = append(r.all, g)
	return keep, nil
}

// look finds the runtime in a file; f is nil where names are not asked for.
func (r *Runtimes) look(file *os.File, info os.FileInfo) (f *symbol.File, p *Program, err error) {
	if r.programs != nil {
		p, err = r.programs.find(file, info)
		return nil, p, err
	}
	if f, err = open(file, info.Size()); err != nil {
		return nil, nil, err
	}
	p, err = Find(f)
	return f, p, err
}

// named gives a runtime the names in its file, which is then to be kept open.
func (g *Runtime) named(f *symbol.File, file io.Closer) (keep bool) {
	if f == nil {
		return false
	}
	g.Target.file, g.closer = f, file
	f.Forget() // it may be kept for as long as its process runs
	return true
}

// mostRuntimes bounds the runtimes of a process.
const mostRuntimes = 64

// mostTries is how often a library is looked at whose runtime may just begin.
const mostTries = 200

// libraries looks at what is mapped, and was not looked at before: files with code, from
// their beginning.
func (r *Runtimes) libraries(vmas []procmem.VMA) {
	code := make(map[uint64]bool)
	for i := range vmas {
		if v := &vmas[i]; v.Exec && v.Inode != 0 {
			code[v.Inode] = true
		}
	}
	for _, v := range vmas {
		at := mapped{v.Start, v.Inode}
		if v.Offset != 0 || v.Inode == 0 || !code[v.Inode] || v.Name == r.path || r.seen[at] == mostTries || len(r.all) == mostRuntimes {
			continue
		}
		r.seen[at]++
		if !r.library(v, vmas) {
			r.seen[at] = mostTries
		}
	}
}

// library looks at a file that is mapped. It is to be looked at again where its runtime
// cannot be read yet.
func (r *Runtimes) library(v procmem.VMA, vmas []procmem.VMA) (again bool) {
	file, info, err := r.open(v)
	if err != nil {
		r.unopened(v, err)
		return false
	}
	keep := false
	defer func() {
		if !keep {
			file.Close()
		}
	}()
	if os.SameFile(info, r.exe) {
		return false
	}
	e, _, err := executable.New(file, info.Size())
	if err != nil {
		return false // data with the mark of code
	}
	moved, ok := loaded(e, v, vmas)
	if !ok {
		return false // a program that reads its library
	}
	g := r.at(v.Name)
	if !executable.Marked(e) {
		if foreign := executable.Foreign(file, info.Size()); foreign != nil && !r.has(foreign.Maker) {
			g.Err = foreign
			r.all = append(r.all, g)
		}
		return false
	}
	if g.Build, _ = executable.BuildOf(file, info.Size()); g.Build.Mode == "plugin" {
		keep = r.plugin(v, e, moved, file, info)
		return false
	}
	f, p, err := r.look(file, info)
	if err == nil {
		g.Target, err = p.library(r.fs, r.pid, moved, v.Start, file)
	}
	if g.Err = err; err == nil {
		keep = g.named(f, file)
	}
	if !slices.Contains(r.all, g) {
		r.all = append(r.all, g)
	}
	// It may begin, or be in the middle of a GC cycle.
	return errors.Is(err, ErrInconsistent)
}

// at returns the runtime of this path that cannot be read yet, or a new one.
func (r *Runtimes) at(path string) *Runtime {
	for _, g := range r.all {
		if g.Path == path && !g.Main && errors.Is(g.Err, ErrInconsistent) {
			return g
		}
	}
	return &Runtime{Path: path}
}

// has reports whether the program, or a library of it, is known to be of a maker: one that
// is linked with libgo has two files of it.
func (r *Runtimes) has(maker string) bool {
	return slices.ContainsFunc(r.all, func(g *Runtime) bool {
		foreign, ok := errors.AsType[*executable.ForeignError](g.Err)
		return ok && foreign.Maker == maker
	})
}

// open opens what is mapped: by the kernel's own link, which only root may, or by its name
// where the process sees it. That may be another file by now.
func (r *Runtimes) open(v procmem.VMA) (file *os.File, info os.FileInfo, err error) {
	if file, info, err = input.Open(r.fs.MapPath(r.pid, v)); err == nil {
		return file, info, nil
	}
	if strings.HasPrefix(v.Name, "/memfd:") {
		return nil, nil, errors.New("it is in memory without a name (memfd), and only root may open it")
	}
	return input.Open(r.fs.RootPath(r.pid, strings.TrimSuffix(v.Name, deleted)))
}

// unopened adds a library whose file could not be opened, if what is mapped of it has the
// mark of go build.
func (r *Runtimes) unopened(v procmem.VMA, why error) {
	mem, err := openMemory(r.fs, r.pid, os.O_RDONLY)
	if err != nil {
		return // the program cannot be read either
	}
	defer mem.Close()
	b := make([]byte, head)
	n, _ := mem.ReadAt(b, int64(v.Start)) // what is there of it
	if e, _, err := executable.New(bytes.NewReader(b[:n]), int64(n)); err == nil && executable.Marked(e) {
		r.all = append(r.all, &Runtime{Path: v.Name, Err: fmt.Errorf("its file cannot be opened: %w", why)})
	}
}

// loaded returns how far a library is from where its file has it: its first segment begins
// at the mapping, and its code is where that says. ok is false for a file that is only read.
func loaded(e *elf.File, v procmem.VMA, vmas []procmem.VMA) (moved uint64, ok bool) {
	first := true
	for _, p := range e.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if first {
			moved, first = v.Start-(p.Vaddr-p.Off), false
		}
		if p.Flags&elf.PF_X == 0 {
			continue
		}
		return moved, slices.ContainsFunc(vmas, func(c procmem.VMA) bool {
			return c.Exec && c.Inode == v.Inode && c.Start <= p.Vaddr+moved && p.Vaddr+moved < c.End
		})
	}
	return 0, false
}

// head is the beginning of a file by which it is known again: its headers, and the IDs of
// its build.
const head = 4 << 10

// errReplaced says that a library's file is another one by now.
var errReplaced = errors.New("its file was replaced since it was loaded; run as root to read the one that is loaded")

// library makes a Target of a library of a process, which is so far from where its file has
// it, and begins at start.
func (p *Program) library(fs procmem.FS, pid int, moved, start uint64, file io.ReaderAt) (*Target, error) {
	mem, err := openMemory(fs, pid, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	have, want := make([]byte, head), make([]byte, head)
	n, _ := file.ReadAt(want, 0) // what is there of it
	_, err = mem.ReadAt(have[:n], int64(start))
	var t *Target
	switch {
	case err != nil:
		err = fmt.Errorf("read its beginning: %w", err)
	case !bytes.Equal(have, want):
		err = errReplaced
	default:
		number := 0
		if fs.Numbered() {
			number = pid
		}
		t, err = p.target(mem, number, moved)
	}
	if err != nil {
		mem.Close()
		return nil, err
	}
	t.closer = []io.Closer{mem}
	return t, nil
}

// A plugged file has code that a runtime of another file runs.
type plugged struct {
	file              *symbol.File
	moved, start, end uint64
}

// plugin adds a plugin to the program's runtime. It keeps the file where there are names.
func (r *Runtimes) plugin(v procmem.VMA, e *elf.File, moved uint64, file *os.File, info os.FileInfo) (keep bool) {
	if len(r.all) == 0 || !r.all[0].Main {
		return false
	}
	g := r.all[0]
	g.Plugins = append(g.Plugins, v.Name)
	if r.programs != nil || g.Target == nil {
		return false
	}
	f, err := open(file, info.Size())
	if err != nil || !f.HasTable() {
		return false
	}
	in := plugged{file: f, moved: moved, start: v.Start}
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			in.end = max(in.end, p.Vaddr+p.Memsz+moved)
		}
	}
	g.Target.also = append(g.Target.also, in)
	g.Target.closer = append(g.Target.closer, file)
	f.Forget()
	return true
}

// fileOf returns the file whose code is at an address of the process, and how far it is
// from where the file has it; nil without names.
func (t *Target) fileOf(pc uint64) (*symbol.File, uint64) {
	for i := range t.also {
		if p := &t.also[i]; pc >= p.start && pc < p.end {
			return p.file, p.moved
		}
	}
	return t.file, t.moved
}

// NotGo says of a process whose program has no Go runtime what is known of it: the libraries
// of Go that it loaded, who made its program, or that it is not Go. The error is an
// [executable.ErrNotGo].
func NotGo(fs procmem.FS, pid int) error {
	r := NewRuntimes(fs, pid)
	defer r.Close()
	_ = r.Update() // what is not found is not named
	var names []string
	for _, g := range r.all {
		if g.Main && g.Err != nil {
			return g.Err
		}
		name := g.Name()
		if v := g.Version(); v != "" {
			name += " (" + v + ")"
		}
		names = append(names, name)
	}
	if len(names) > 0 {
		return &librariesError{names}
	}
	return errNotGo
}

// A librariesError is for a program that is not Go, and has libraries that are.
type librariesError struct{ names []string }

func (e *librariesError) Error() string {
	return "only libraries of it are Go: " + strings.Join(e.names, ", ")
}
func (e *librariesError) Is(target error) bool { return target == executable.ErrNotGo }
