// Binarytrees builds and counts many binary trees with new, as most Go programs
// would. It prints a row per depth: how many trees, nodes, and MB of nodes. There
// are no arenas, so their column is 0; otherwise the output is that of the
// variants with arenas.
//
//	binarytrees [depth, default 21]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
)

// Node is a node of a tree: two words.
type Node struct{ left, right *Node }

func build(depth int) *Node {
	if depth == 0 {
		return &Node{}
	}
	return &Node{build(depth - 1), build(depth - 1)}
}

func (n *Node) count() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.count() + n.right.count()
}

const nodeBytes = 16

// grow builds trees of one depth one after the other and counts them.
func grow(trees, depth int) (nodes int) {
	for range trees {
		nodes += build(depth).count()
	}
	return nodes
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
	if err := flags.Parse(args); err != nil {
		return err
	}
	depth := 21
	if flags.NArg() > 0 {
		d, err := strconv.Atoi(flags.Arg(0))
		if err != nil || d < 1 || d > 40 {
			return fmt.Errorf("depth %q: give a number from 1 to 40", flags.Arg(0))
		}
		depth = max(d, 6)
	}

	fmt.Fprint(w, row(fmt.Sprintf("stretch tree of depth %d", depth+1), 0, grow(1, depth+1)))

	longLived := build(depth)

	rows := make([]string, depth/2-1)
	var wg sync.WaitGroup
	for i := range rows {
		wg.Go(func() {
			d := 4 + 2*i
			n := 1 << (depth - d + 4)
			rows[i] = row(fmt.Sprintf("%9d trees of depth %d", n, d), 0, grow(n, d))
		})
	}
	wg.Wait()
	for _, r := range rows {
		fmt.Fprint(w, r)
	}
	fmt.Fprint(w, row(fmt.Sprintf("long lived tree of depth %d", depth), 0, longLived.count()))
	return nil
}
