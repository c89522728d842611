// Trees builds and counts binary trees as the Computer Language Benchmarks Game
// prescribes, with new or in one of several arenas: the Go programs of
// cmd/bench/arena.
//
//	trees [flags] DEPTH
//
// The work is split in the same way in every language. Each depth's trees make 16
// tasks; the tasks of all depths together, the least depth first, are one list,
// and as many threads as there are processors take the next one from it. A task
// is the same number of nodes at each depth, so all processors are busy to the
// end. Trees are built from the leaves up: both subtrees, then the node.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/foliomem/folio/arena"
)

const (
	minDepth  = 4
	maxDepth  = 40
	chunks    = 16 // tasks of a depth
	nodeBytes = 16
)

// Node is a node of a tree: two words.
type Node struct{ left, right *Node }

func (n *Node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

// An allocator is a way to allocate trees.
type allocator interface {
	// worker returns a function for one thread, which builds trees of one depth
	// one after the other, counts their nodes, and frees them.
	worker() func(trees, depth int) (nodes int)
	// keep builds one tree that is not freed and returns a function to count it.
	keep(depth int) (count func() int)
}

// flags are what the allocators take.
var flags struct {
	arena.Options
	batch int
	reset bool
}

var allocators = map[string]func() allocator{
	"new":   func() allocator { return heap{} },
	"folio": func() allocator { return folio{} },
}

func main() {
	names := strings.Join(slices.Sorted(maps.Keys(allocators)), ", ")
	with := flag.String("with", "new", "allocate with `what`: "+names)
	threads := flag.Int("threads", runtime.GOMAXPROCS(0), "threads")
	flag.IntVar(&flags.batch, "batch", 0, "free an arena once its trees take so many `bytes`; 0: an arena per tree")
	flag.BoolVar(&flags.reset, "reset", false, "an arena per thread, reset after each tree (Folio's only)")
	flag.IntVar(&flags.IdleBytes, "idle", 0, "arena.Options.IdleBytes")
	base := flag.Bool("base", false, "no huge pages (Folio's only)")
	flag.Parse()
	if *base {
		flags.HugePages = arena.HugeOff
	}
	depth, err := strconv.Atoi(flag.Arg(0))
	if err != nil || depth < minDepth+2 || depth > maxDepth || flag.NArg() != 1 {
		fmt.Fprintf(os.Stderr, "trees: want one argument, the depth, from %d to %d\n", minDepth+2, maxDepth)
		os.Exit(2)
	}
	make, ok := allocators[*with]
	if !ok {
		fmt.Fprintf(os.Stderr, "trees: -with %s: this program knows %s\n", *with, names)
		os.Exit(2)
	}
	run(make(), depth, *threads)
}

func run(a allocator, depth, threads int) {
	fmt.Printf("stretch tree of depth %d\t check: %d\n", depth+1, a.worker()(1, depth+1))
	longLived := a.keep(depth)

	var next atomic.Int64
	total := make([]atomic.Int64, depth+1)
	tasks := ((depth-minDepth)/2 + 1) * chunks
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			grow := a.worker()
			for {
				t := int(next.Add(1)) - 1
				if t >= tasks {
					return
				}
				d := minDepth + t/chunks*2
				total[d].Add(int64(grow(trees(depth, d)/chunks, d)))
			}
		})
	}
	wg.Wait()
	for d := minDepth; d <= depth; d += 2 {
		fmt.Printf("%d\t trees of depth %d\t check: %d\n", trees(depth, d), d, total[d].Load())
	}
	fmt.Printf("long lived tree of depth %d\t check: %d\n", depth, longLived())
}

// trees is how many trees of depth d there are when the deepest have depth most.
func trees(most, d int) int { return 1 << (most - d + minDepth) }
