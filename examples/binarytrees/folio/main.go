// Binarytrees builds and counts many binary trees in Folio's arenas. It prints
// a row per depth: how many trees, arenas, nodes, and MB of nodes.
//
//	binarytrees [flags] [depth, default 21]
//
// Trees share an arena until they take -batch bytes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/foliomem/folio/arena"
)

// Node is a node of a tree: two words.
type Node struct{ left, right *Node }

func build(h *arena.Handle[Node], depth int) *Node {
	n := h.New()
	if depth > 0 {
		n.left = build(h, depth-1)
		n.right = build(h, depth-1)
	}
	return n
}

func (n *Node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

const nodeBytes = 16

// options are those of all arenas.
var options arena.Options

// grow builds trees of one depth one after the other and counts them. An arena
// is freed once its trees take batch bytes.
func grow(trees, depth, batch int) (arenas, nodes int) {
	for trees > 0 {
		a := arena.NewArenaWith(&options)
		arenas++
		h := arena.Of[Node](a)
		for used := 0; trees > 0 && (used == 0 || used < batch); trees-- {
			n := build(h, depth).count()
			nodes += n
			used += n * nodeBytes
		}
		a.Free()
	}
	return arenas, nodes
}

func row(what string, arenas, nodes int) string {
	return fmt.Sprintf("%-32sarenas: %-8d nodes: %-10d MB: %.1f\n", what, arenas, nodes, float64(nodes*nodeBytes)/(1<<20))
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "binarytrees:", err)
		os.Exit(2)
	}
}

func run(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("binarytrees", flag.ContinueOnError)
	batch := flags.Int("batch", 1<<20, "free an arena once its trees take so many `bytes`; 0: an arena per tree")
	flags.IntVar(&options.IdleBytes, "idle", 0, "keep at most so many idle `bytes` for reuse; 0: the default")
	flags.BoolVar(&options.NoIdle, "no-idle", false, "keep no idle memory for reuse")
	flags.IntVar(&options.SlabBytes, "slab", 0, "largest slab in `bytes`; 0: the default")
	base := flags.Bool("base", false, "no huge pages")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *base {
		options.HugePages = arena.HugeOff
	}
	depth := 21
	if flags.NArg() > 0 {
		d, err := strconv.Atoi(flags.Arg(0))
		if err != nil || d < 1 || d > 40 {
			return fmt.Errorf("depth %q: give a number from 1 to 40", flags.Arg(0))
		}
		depth = max(d, 6)
	}

	arenas, nodes := grow(1, depth+1, 0)
	fmt.Fprint(w, row(fmt.Sprintf("stretch tree of depth %d", depth+1), arenas, nodes))

	long := arena.NewArenaWith(&options)
	longLived := build(arena.Of[Node](long), depth)

	rows := make([]string, depth/2-1)
	var wg sync.WaitGroup
	for i := range rows {
		wg.Go(func() {
			d := 4 + 2*i
			n := 1 << (depth - d + 4)
			arenas, nodes := grow(n, d, *batch)
			rows[i] = row(fmt.Sprintf("%9d trees of depth %d", n, d), arenas, nodes)
		})
	}
	wg.Wait()
	for _, r := range rows {
		fmt.Fprint(w, r)
	}
	fmt.Fprint(w, row(fmt.Sprintf("long lived tree of depth %d", depth), 1, longLived.count()))
	long.Free()
	return nil
}
