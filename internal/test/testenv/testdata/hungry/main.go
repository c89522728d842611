// Hungry has so many MiB outside its runtime and so many MiB of live heap, says that it is ready,
// and once it is told to go on by a line allocates so many MiB of garbage in all; with a fourth argument slowly.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

var live, sink [][]byte

func touch(b []byte) []byte {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return b
}

func main() {
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(os.Args[1+i])
	}
	slowly := len(os.Args) > 4
	if n[0] > 0 {
		off, err := syscall.Mmap(-1, 0, n[0]<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			panic(err)
		}
		touch(off)
	}
	for i := 0; i < n[1]<<20/16384; i++ {
		live = append(live, touch(make([]byte, 16384)))
	}
	runtime.GC()
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return
	}
	sink = make([][]byte, 1)
	for i := 0; i < n[2]<<20/16384; i++ {
		if slowly && i%64 == 0 {
			time.Sleep(20 * time.Millisecond) // that it is seen near its limit
		}
		sink[0] = touch(make([]byte, 16384))
	}
	fmt.Println("lived", len(live))
}
