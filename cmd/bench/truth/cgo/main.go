// Command cgo allocates with malloc and with Go's allocator by turns: see package say.
package main

/*
#include <stdlib.h>
#include <string.h>
static long use(size_t n) {
	char *p = malloc(n);
	if (p == NULL) return 0;
	memset(p, 1, n);
	long sum = p[n / 2];
	free(p);
	return sum;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"

	"github.com/foliomem/folio/cmd/bench/truth/own/say"
)

var kept [1 << 12][]byte

func main() {
	n, err := 0, error(nil)
	if len(os.Args) > 1 {
		n, err = strconv.Atoi(os.Args[1])
	}
	if err == nil {
		err = say.Begin()
	}
	sum := C.long(0)
	for i := range n {
		sum += C.use(64 << 10)
		kept[i%len(kept)] = make([]byte, 8<<10)
	}
	fmt.Println(sum)
	if err == nil {
		err = say.Truth()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cgo:", err)
		os.Exit(1)
	}
}
