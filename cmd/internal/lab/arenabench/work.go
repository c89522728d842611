package arenabench

import (
	"fmt"
	"math/bits"
)

// A Work is something to do with many nodes.
type Work struct {
	Name string
	// run does it: size is bytes, about what the nodes that live at once take, and
	// count is how many times it is done.
	run func(way Allocator, size uint64, count int, m *meter) (sum uint64, err error)
}

// Works are all there is to do.
var Works = []Work{{"trees", trees}, {"json", documents}, {"index", indexes}}

// An Allocator allocates nodes.
type Allocator interface {
	// grow builds trees of one depth one after the other and counts their nodes.
	// Those that share an arena are freed once they take batch bytes.
	grow(trees, depth, batch int) (nodes int)
	// keep builds a tree and returns a function that counts and frees it.
	keep(depth int) func() int
	// open returns where the nodes of a document or of an index are allocated.
	open() *space
}

// Lookup returns the Work and the Allocator of the names.
func Lookup(work, way string) (Work, Allocator, error) {
	make, ok := ways[way]
	if !ok {
		return Work{}, nil, fmt.Errorf("there is no way %q to allocate nodes", way)
	}
	for _, w := range Works {
		if w.Name == work {
			return w, make(), nil
		}
	}
	return Work{}, nil, fmt.Errorf("there is no work %q to do with nodes", work)
}

// ways are the ways to allocate that this program was built with, by name.
var ways = map[string]func() Allocator{"new": func() Allocator { return heap{} }}

// Do does the work and returns what it cost.
func (w Work) Do(way Allocator, size uint64, count int) (*Result, error) {
	if size < 1<<10 || count < 1 {
		return nil, fmt.Errorf("%s: want at least 1 KiB of nodes and once, not %d bytes and %d times", w.Name, size, count)
	}
	m := &meter{}
	sum, err := w.run(way, size, count, m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.Name, err)
	}
	return m.result(sum), nil
}

// heap allocates with new, as most Go programs do.
type heap struct{}

func (heap) open() *space { return new(space) }

func (heap) grow(trees, depth, _ int) (nodes int) {
	for range trees {
		nodes += build(depth).count()
	}
	return nodes
}

func (heap) keep(depth int) func() int { return build(depth).count }

func build(depth int) *node {
	n := new(node)
	if depth > 0 {
		n.left = build(depth - 1)
		n.right = build(depth - 1)
	}
	return n
}

// mix returns a number that looks random, a different one for each n (the
// finalizer of splitmix64).
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// log2 returns the logarithm of n, rounded down.
func log2(n uint64) int { return bits.Len64(n) - 1 }
