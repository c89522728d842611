//go:build cgo

package main

/*
#include <stdlib.h>
#include <string.h>
static void leak(void) { memset(malloc(100 << 10), 1, 100 << 10); }
*/
import "C"

func init() { leakC = func() { C.leak() } }
