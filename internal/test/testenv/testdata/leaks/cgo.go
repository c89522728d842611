//go:build cgo

package main

/*
#include <stdlib.h>
#include <string.h>
static char *volatile last;
static void leak(void) { last = malloc(16 << 10); memset(last, 1, 16 << 10); }
*/
import "C"
import "runtime"

func init() {
	runtime.LockOSThread() // the first thread, whose malloc is of brk: other arenas seem other memory once they are full
	leakC = func() { C.leak() }
}
