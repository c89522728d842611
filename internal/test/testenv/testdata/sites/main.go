// A program that allocates known objects, and writes its own heap profile. For each line
// that it reads: "profile FILE" collects garbage and writes the profile, "write FILE" only
// writes it; it answers with a line.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
)

type node struct {
	next *node
	data [5]uint64
}

var (
	list   *node
	tables = map[string][]byte{}
	chunks [][]byte
)

//go:noinline
func keepNodes(n int) {
	for i := 0; i < n; i++ {
		list = &node{next: list}
	}
}

func newChunk(n int) []byte { return make([]byte, n) } // inlined

func addChunk(n int) { chunks = append(chunks, newChunk(n)) } // inlined

//go:noinline
func keepChunks(n int) {
	chunks = make([][]byte, 0, 1000)
	for i := 0; i < n; i++ {
		addChunk(10000)
	}
	addChunk(3 << 20)
}

//go:noinline
func waste(n int) {
	for i := 0; i < n; i++ {
		_ = fmt.Sprint(strings.Repeat("x", 100+i%3))
	}
}

//go:noinline
func deep(n int) {
	if n == 0 {
		keepNodes(7)
		return
	}
	deep(n - 1)
}

func makeOf[T any](n int) []T { return make([]T, n) }

var generic []any

type keeper struct{ of []func() }

func (k *keeper) keep(n int) {
	for i := 0; i < n; i++ {
		b := make([]byte, 100)
		k.of = append(k.of, func() { b[0]++ })
	}
}

var kept keeper

func main() {
	if os.Getenv("RATE") != "" {
		fmt.Sscan(os.Getenv("RATE"), &runtime.MemProfileRate)
	}
	keepNodes(1000)
	keepChunks(50)
	waste(5000)
	deep(10)
	deep(50)
	deep(500)
	generic = append(generic, makeOf[int32](1000), makeOf[node](10))
	kept.keep(33)
	for i := 0; i < 200; i++ {
		tables[fmt.Sprint(i)] = make([]byte, i)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		what, path, _ := strings.Cut(in.Text(), " ")
		if what == "profile" {
			runtime.GC()
		}
		if path != "" {
			f, err := os.Create(path)
			if err == nil {
				err = pprof.Lookup("heap").WriteTo(f, 0)
			}
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				fmt.Println(err)
				continue
			}
		}
		fmt.Println("done")
	}
	runtime.KeepAlive(list)
}
