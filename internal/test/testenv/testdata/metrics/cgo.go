package main

/*
#include <stdlib.h>
#include <string.h>

static char *take(size_t n) {
	char *p = malloc(n);
	memset(p, 1, n);
	return p;
}

static void many(void) {
	for (int i = 0; i < 200000; i++) take(100);
}
*/
import "C"

func init() {
	outside = func() {
		C.take(12 << 20)
		C.many()
	}
}
