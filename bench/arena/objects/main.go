// Objects measures one cell of the table of bench/arena -objects: what an object
// costs with new, or in an arena of some size.
//
//	objects -arm ARM [-size 16] [-pointers] [-arena 1048576]
//	objects -arm steady
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/foliomem/folio/bench/arena/internal/cell"
)

var arms = map[string]cell.Arm{
	"new":       heap,
	"folio-of":  folioOf,
	"folio-new": folioNew,
}

func main() {
	run := func() error { return cell.Main(os.Stdout, arms, os.Args[1:]) }
	if len(os.Args) == 3 && os.Args[1] == "-arm" && os.Args[2] == "steady" {
		run = func() error { return steady(os.Stdout) }
	}
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "objects:", err)
		os.Exit(2)
	}
}
