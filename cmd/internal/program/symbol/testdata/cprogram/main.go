// Command cprogram is a Go program with C code, whose frames the runtime does
// not know. It prints where that code is.
package main

/*
#include <stdint.h>
__attribute__((noinline)) int folio_in_c(int n) { return n * 3 + 1; }
static uintptr_t where(void) { return (uintptr_t)folio_in_c; }
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

//go:noinline
func pc() uintptr {
	pc, _, _, _ := runtime.Caller(0)
	return pc
}

func main() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var from, to, offset uintptr
		var flags string
		if n, _ := fmt.Sscanf(in.Text(), "%x-%x %s %x", &from, &to, &flags, &offset); n != 4 || !strings.Contains(flags, "x") || !strings.HasSuffix(in.Text(), " "+exe) {
			continue
		}
		for _, a := range []uintptr{uintptr(C.where()), pc()} {
			if a >= from && a < to {
				fmt.Println(a - from + offset)
			}
		}
	}
	C.folio_in_c(1)
}
