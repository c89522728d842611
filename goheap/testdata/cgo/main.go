// Command cgo has memory of C beside its Go heap, and says where both are.
package main

/*
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// more is a thread with memory of its own: glibc gives each an arena of 64 MiB.
static void *more(void *p) {
	*(void **)p = memset(malloc(100), 1, 100);
	return NULL;
}

static void *ofThread(void) {
	pthread_t t;
	void *p = NULL;
	if (pthread_create(&t, NULL, more, &p) == 0) pthread_join(t, NULL);
	return p;
}

static void *touched(size_t n) {
	void *p = malloc(n);
	if (p) memset(p, 1, n);
	return p;
}
*/
import "C"

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
	"unsafe"

	"github.com/foliomem/folio/goheap"
	"github.com/foliomem/folio/page"
)

func main() {
	var out struct {
		Heap, Other []uintptr
		Ranges      []page.Range
		Error       string
	}
	for range 8 {
		out.Other = append(out.Other, uintptr(C.ofThread()))
	}
	// Small ones, one as large as the runtime's unit, and larger ones.
	for _, n := range []int{1, 100, 1 << 16, 1 << 20, 64 << 20, 130 << 20} {
		p := uintptr(C.touched(C.size_t(n)))
		out.Other = append(out.Other, p, p+uintptr(n)-1)
	}
	var keep [][]byte
	for i := range 30000 {
		b := make([]byte, 1000+i%5000)
		keep = append(keep, b)
		if i%100 == 0 {
			out.Heap = append(out.Heap, uintptr(unsafe.Pointer(&b[0])))
		}
	}
	a, err := goheap.Start(nil)
	if err != nil {
		out.Error = err.Error()
	} else {
		out.Ranges = a.Stats().Ranges
		defer a.Stop()
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	runtime.KeepAlive(keep)
}
