// Command state is a Go program with C in it that runs before Go does: it
// writes down what a program finds when it starts (state.c).
package main

/*
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
)

func main() {
	// What Go itself finds: that it was started in order.
	fmt.Fprintln(os.Stderr, "state: done")
	_ = C.EXIT_SUCCESS
}
