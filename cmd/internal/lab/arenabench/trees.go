package arenabench

import (
	"fmt"
	"sync"
)

// node is a node of a tree: two words.
type node struct{ left, right *node }

func (n *node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

const (
	nodeBytes = 16
	// batch is after how many bytes of trees an arena is freed.
	batch = 1 << 20
	// leastDepth is the least depth of the trees that live to the end.
	leastDepth = 6
)

// Depth returns how deep the tree is that lives to the end when the largest tree,
// one level deeper, takes size bytes.
func Depth(size uint64) int { return max(log2(size/nodeBytes)-2, leastDepth) }

// trees does what the program of the Computer Language Benchmarks Game does:
// builds and counts a tree that is freed, one that lives to the end, and
// meanwhile many smaller ones, as many of each depth as make the same number of
// nodes. Each depth has a goroutine.
func trees(way Allocator, size uint64, count int, m *meter) (sum uint64, err error) {
	depth := Depth(size)
	m.start()
	for range count {
		once, err := forest(way, depth, m)
		if err != nil {
			return 0, err
		}
		sum += once
	}
	return sum, nil
}

func forest(way Allocator, depth int, m *meter) (sum uint64, err error) {
	if n := way.grow(1, depth+1, 0); n != full(depth+1) {
		return 0, fmt.Errorf("the first tree has %d nodes, not %d", n, full(depth+1))
	}
	long := way.keep(depth)

	found := make([]int, depth/2-1)
	var wg sync.WaitGroup
	for i := range found {
		wg.Add(1)
		go func() {
			defer wg.Done()
			d := leastTree + 2*i
			found[i] = way.grow(treesOf(depth, d), d, batch)
		}()
	}
	wg.Wait()
	m.look()
	for i, n := range found {
		d := leastTree + 2*i
		if want := treesOf(depth, d) * full(d); n != want {
			return 0, fmt.Errorf("the trees of depth %d have %d nodes, not %d", d, n, want)
		}
		sum += uint64(n)
	}
	if n := long(); n != full(depth) {
		return 0, fmt.Errorf("the tree that lives to the end has %d nodes, not %d", n, full(depth))
	}
	return sum, nil
}

// leastTree is the depth of the smallest trees.
const leastTree = 4

// treesOf is how many trees of depth d are built.
func treesOf(depth, d int) int { return 1 << (depth - d + leastTree) }

// full is how many nodes a tree has.
func full(depth int) int { return 1<<(depth+1) - 1 }
