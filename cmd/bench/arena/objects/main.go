// Objects measures one cell of the table of cmd/bench/arena -objects: what an object
// costs with new, or in an arena of some size.
//
//	objects -arm ARM [-size 16] [-pointers] [-arena 1048576]
//	objects -arm steady|steady-new|come-and-go [-threads 1] [-arena 65536]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/foliomem/folio/cmd/bench/arena/internal/cell"
)

var arms = map[string]cell.Arm{
	"new":       heap,
	"folio-of":  folioOf,
	"folio-new": folioNew,
}

func main() {
	run := func() error { return cell.Main(os.Stdout, arms, os.Args[1:]) }
	if len(os.Args) > 2 && os.Args[1] == "-arm" && loops[os.Args[2]] != nil {
		run = func() error { return loop(os.Stdout, os.Args[2], os.Args[3:]) }
	}
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "objects:", err)
		os.Exit(2)
	}
}
