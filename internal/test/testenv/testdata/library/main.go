// A library for programs in C: its one function does what a line says, and returns what
// package runtime says of it afterwards.
package main

import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

func init() { runtime.MemProfileRate = 1 }

var (
	kept  [][]byte
	block = make(chan struct{})
)

// Do runs a command: keep N keeps N blocks of 1 MiB more, collect runs a GC cycle, wait N
// starts N goroutines that wait, stick N leaves N finalizers that wait, version and stats say what they are named after, profile
// how many records the heap profile has.
//
//export Do
func Do(line *C.char) *C.char {
	what, rest, _ := strings.Cut(C.GoString(line), " ")
	n := 0
	fmt.Sscan(rest, &n)
	switch what {
	case "keep":
		for range n {
			kept = append(kept, keep())
		}
	case "collect":
		runtime.GC()
	case "wait":
		for range n {
			go wait()
		}
	case "stick":
		made := make(chan bool)
		go func() {
			for range n {
				runtime.SetFinalizer(&object{}, stuck)
			}
			close(made)
		}()
		<-made
		for range 3 {
			runtime.GC()
		}
	case "version":
		return C.CString(runtime.Version())
	case "profile":
		n, _ := runtime.MemProfile(nil, true)
		return C.CString(fmt.Sprint(n))
	case "stats":
	default:
		fmt.Fprintf(os.Stderr, "library: no command %q\n", what)
		os.Exit(2)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return C.CString(fmt.Sprint(m.NumGC, m.HeapAlloc, m.HeapInuse, runtime.NumGoroutine()))
}

func keep() []byte {
	b := make([]byte, 1<<20)
	for i := range b {
		b[i] = 1
	}
	return b
}

func wait() { <-block }

type object struct {
	next *object
	data [64]byte
}

func stuck(*object) { <-block }

func main() {}
