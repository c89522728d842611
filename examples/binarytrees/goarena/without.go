//go:build !goexperiment.arenas

// Binarytrees builds and counts many binary trees in the arenas of Go's experiment:
// build it with GOEXPERIMENT=arenas.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "binarytrees: built without Go's arenas: build it with GOEXPERIMENT=arenas")
	os.Exit(2)
}
