// Command probe grows its heap, does a little of everything that a runtime has
// to do, and says what the kernel knows of its memory. It builds with Go 1.18.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

const size = 64 << 20

var sink [][]byte

func main() {
	block := make([]byte, size)
	for i := 0; i < len(block); i += 512 {
		block[i] = byte(i >> 9)
	}
	work()
	for i := 0; i < len(block); i += 512 {
		if block[i] != byte(i>>9) {
			fmt.Println("the heap lost what was written to it")
			os.Exit(1)
		}
	}
	start := uintptr(unsafe.Pointer(&block[0]))
	advised, heap := flags(start, start+size)
	fmt.Printf("%s %s heap=%d advised=%d\n", runtime.Version(), runtime.GOARCH, heap, advised)
}

// work uses maps, goroutines, large and small objects, the GC and panics.
func work() {
	m := map[int]*[64]byte{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for g := 0; g < 8; g++ {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			defer func() { recover() }()
			for i := 0; i < 20000; i++ {
				p := new([64]byte)
				p[i%64] = byte(i)
				mu.Lock()
				m[g*20000+i] = p
				mu.Unlock()
			}
			panic(g)
		}(g)
	}
	for i := 0; i < 20; i++ {
		sink = append(sink, make([]byte, 1<<20))
		runtime.GC()
	}
	wg.Wait()
	for k, p := range m {
		if i := k % 20000; p[i%64] != byte(i) {
			fmt.Println("a map lost a value")
			os.Exit(1)
		}
	}
	sink, m = nil, nil
	runtime.GC()
}

// flags adds up the memory that asks for huge pages (hg in VmFlags): all of it,
// and what lies between two addresses.
func flags(from, to uintptr) (all, within uintptr) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	var start, end uintptr
	for s := bufio.NewScanner(f); s.Scan(); {
		line := s.Text()
		var a, b uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &a, &b); n == 2 {
			start, end = a, b
			continue
		}
		if strings.HasPrefix(line, "VmFlags:") && strings.Contains(line, " hg") {
			all += end - start
			if a, b := max(start, from), min(end, to); a < b {
				within += b - a
			}
		}
	}
	return all, within
}

func max(a, b uintptr) uintptr {
	if a > b {
		return a
	}
	return b
}

func min(a, b uintptr) uintptr {
	if a < b {
		return a
	}
	return b
}
