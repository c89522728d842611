//go:build cgo

package main

/*
#include <stdlib.h>
#include <string.h>
static char *volatile last;
static void leak(void) { last = malloc(16 << 10); memset(last, 1, 16 << 10); }
*/
import "C"

func init() { leakC = func() { C.leak() } }
