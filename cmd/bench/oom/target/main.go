// Command target has a heap, goroutines that wait, and grows when a line of input says how
// many MiB a second.
package main

import (
	"bufio"
	"flag"
	"fmt"
	_ "net/http/pprof" // so that the linker keeps the heap profile
	"os"
	"strconv"
	"time"
)

// A node is an object of 64 bytes.
type node struct {
	next *node
	data [7]uint64
}

var (
	nodes  *node
	leaked [][]byte
)

func main() {
	heap := flag.Int("heap", 64, "MiB in objects of 64 bytes")
	goroutines := flag.Int("goroutines", 0, "goroutines that wait")
	flag.Parse()
	wait := make(chan bool)
	for range *goroutines {
		go func() { <-wait }()
	}
	for i := range *heap << 20 / 64 {
		nodes = &node{next: nodes, data: [7]uint64{uint64(i), 2, 3, 4, 5, 6, 7}}
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	if !in.Scan() {
		return
	}
	rate, err := strconv.Atoi(in.Text())
	if err != nil || rate < 1 {
		fmt.Fprintln(os.Stderr, "want MiB a second")
		os.Exit(1)
	}
	const step = 256 << 10
	for next := time.Now(); ; next = next.Add(time.Second * step / time.Duration(rate<<20)) {
		time.Sleep(time.Until(next))
		b := make([]byte, step)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		leaked = append(leaked, b)
	}
}
