package inspect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Kind is what a mapping is used for.
type Kind int

const (
	GoHeap    Kind = iota // objects and the stacks of goroutines
	Stack                 // of threads
	Anonymous             // any other private memory of no file
	File                  // files, and memory that is shared
	Hugetlb               // pages of the hugetlb pool
	Kinds                 // how many there are
)

var kindNames = [Kinds]struct{ key, title string }{
	GoHeap:    {"go_heap", "Go heap"},
	Stack:     {"stack", "thread stacks"},
	Anonymous: {"anonymous", "other private"},
	File:      {"file", "files, shared"},
	Hugetlb:   {"hugetlb", "hugetlb pool"},
}

// String returns the kind's key in JSON, Title its name in tables.
func (k Kind) String() string { return kindNames[k].key }
func (k Kind) Title() string  { return kindNames[k].title }

// KindTitle returns the title of the kind that has a key; the key if there is none.
func KindTitle(key string) string {
	for _, n := range kindNames {
		if n.key == key {
			return n.title
		}
	}
	return key
}

// ErrNotGo says that a process is not a Go program, so that nobody knows which part of
// its memory is a heap.
var ErrNotGo = errors.New("not a Go program")

// Areas are the ranges of a process that huge pages can be made of, ascending:
// of a Go program its heap, or those of the Go libraries of another, and with all set all its private anonymous memory other
// than the stacks of threads; of any other program they are an ErrNotGo without
// all.
func (s *System) Areas(pid int, all bool) ([]page.Range, error) {
	heap, err := s.heap(pid, all)
	if err != nil && (!all || !errors.Is(err, ErrNotGo) && !errors.Is(err, heapmap.ErrNotFound)) {
		return nil, err
	}
	if !all {
		return heap, nil
	}
	vmas, err := s.FS.Maps(pid)
	if err != nil {
		return nil, err
	}
	var out []page.Range
	for i := range vmas {
		if k := classify(vmas, i, heap, s.FS.PageSize()); (k == GoHeap || k == Anonymous) && usable(vmas[i]) {
			out = join(out, page.Range{Start: uintptr(vmas[i].Start), End: uintptr(vmas[i].End)})
		}
	}
	return out, nil
}

// heap returns the Go heap of a process. With all set those of libraries, which are to be
// searched for, are left out.
func (s *System) heap(pid int, all bool) ([]page.Range, error) {
	of, err := s.program(pid)
	switch {
	case err != nil:
		return nil, fmt.Errorf("process %d: read its program: %w", pid, err)
	case of.isGo:
		return s.find(pid)
	case all:
		return nil, ErrNotGo
	}
	runtimes := goruntime.NewRuntimes(s.FS, pid)
	defer runtimes.Close()
	if err := runtimes.Update(); err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	vmas, err := s.FS.Maps(pid)
	if err != nil {
		return nil, err
	}
	if heap := heapsOf(runtimes.Readable(), vmas); len(heap) > 0 {
		return heap, nil
	}
	for _, g := range runtimes.All() {
		return nil, fmt.Errorf("process %d: the Go heap of %s is not known: %w (%w)", pid, g.Name(), g.Err, heapmap.ErrNotFound)
	}
	return nil, fmt.Errorf("process %d: %w: no Go build information", pid, ErrNotGo)
}

// usable reports whether a mapping can have huge pages of a program's data.
func usable(v procmem.VMA) bool { return v.Read && v.Write && !v.Exec }

func join(to []page.Range, r page.Range) []page.Range {
	if n := len(to); n > 0 && to[n-1].End == r.Start {
		to[n-1].End = r.End
		return to
	}
	return append(to, r)
}

// classify says what the i-th mapping is used for. Stacks of threads whose guards cannot
// be seen are other anonymous memory.
func classify(all []procmem.VMA, i int, heap []page.Range, pageSize int) Kind {
	v := all[i]
	switch {
	case Overlap(heap, page.Range{Start: uintptr(v.Start), End: uintptr(v.Start) + 1}):
		return GoHeap
	case v.Shared || v.Inode != 0 || !anonymousName(v.Name):
		return File
	case v.StackName():
		return Stack
	case i > 0 && v.Name == "" && usable(v) && procmem.Guards(all[i-1], v, pageSize):
		return Stack
	}
	return Anonymous
}

// anonymousName tells memory of the process from what the kernel puts there ([vdso]).
func anonymousName(name string) bool {
	return name == "" || name == "[heap]" || strings.HasPrefix(name, "[anon:") || strings.HasPrefix(name, "[stack")
}
