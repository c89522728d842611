//go:build linux && (amd64 || arm64)

package witness

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
)

// Heaps puts the heap of every Go program of a tree on huge pages: its OnExec is for
// [Options].
type Heaps struct {
	mu     sync.Mutex
	byName map[string]*Heap
}

// A Heap is what became of the programs of one name.
type Heap struct {
	Name    string
	Execs   int
	Changed int
	// NotGo says that no execution was of a Go program. Why is the reason why one of a Go
	// program was not changed, "" if all were.
	NotGo bool
	Why   string
}

// OnExec changes what can be changed.
func (h *Heaps) OnExec(e *Exec) AtExec {
	name := e.Name()
	heap, err := e.Heap()
	var refused *codepatch.RefusedError
	switch {
	case errors.As(err, &refused) && (refused.Kind == codepatch.NotGo || refused.Kind == codepatch.NotELF):
		h.count(name, true, nil)
		return nil
	case err != nil:
		h.count(name, false, err)
		return nil
	}
	return func(pid int, err error) {
		if err == nil {
			err = heap.Apply(pid)
		}
		h.count(name, false, err)
	}
}

// Count counts an execution of a Go program that somebody else changed, or err.
func (h *Heaps) Count(name string, err error) { h.count(name, false, err) }

func (h *Heaps) count(name string, notGo bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byName == nil {
		h.byName = map[string]*Heap{}
	}
	c := h.byName[name]
	if c == nil {
		c = &Heap{Name: name, NotGo: true}
		h.byName[name] = c
	}
	c.NotGo = c.NotGo && notGo
	c.Execs++
	switch {
	case err != nil && c.Why == "":
		c.Why = err.Error()
	case err == nil && !notGo:
		c.Changed++
	}
}

// Counts returns what became of the programs so far, Go programs first.
func (h *Heaps) Counts() (out []Heap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.byName {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Heap) int {
		if a.NotGo != b.NotGo {
			if a.NotGo {
				return 1
			}
			return -1
		}
		return cmp.Or(b.Execs-a.Execs, cmp.Compare(a.Name, b.Name))
	})
	return out
}
