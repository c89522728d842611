// A program with goroutines in many states, which says their stacks: for each line that it
// reads it writes the text of runtime.Stack, and a line "end".
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"time"
)

type server struct {
	mu   sync.Mutex
	cond *sync.Cond
	wg   sync.WaitGroup
}

//go:noinline
func receive(c chan int) { <-c }

func inlined(c chan int) { receive(c) }

//go:noinline
func recurse(n int, c chan int) {
	var pad [100]byte
	if n > 0 {
		recurse(n-1, c)
	} else {
		c <- int(pad[0])
	}
	runtime.KeepAlive(&pad)
}

func (s *server) lock() {
	s.mu.Lock()
	s.mu.Unlock()
}

func wait[T any](c chan T) T { return <-c }

func start(n int, f func()) {
	for i := 0; i < n; i++ {
		go f()
	}
}

var blocked chan int

func main() {
	debug.SetGCPercent(-1)
	s := &server{}
	s.cond = sync.NewCond(&sync.Mutex{})
	s.wg.Add(1)
	s.mu.Lock()
	c, never := make(chan int), make(chan int)
	start(50, func() { inlined(c) })
	start(20, func() { recurse(5, never) })
	start(3, func() { recurse(300, never) })
	start(4, func() { s.lock() })
	start(5, func() { s.cond.L.Lock(); s.cond.Wait(); s.cond.L.Unlock() })
	start(6, func() { s.wg.Wait() })
	start(7, func() { time.Sleep(time.Hour) })
	start(8, func() {
		select {
		case <-c:
		case <-never:
		}
	})
	start(2, func() { select {} })
	start(2, func() { <-blocked })
	start(3, func() { wait(make(chan string)) })
	for i := 0; i < 9; i++ {
		go func() { receive(c) }()
	}
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	go func() { r.Read(make([]byte, 1)) }()
	if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		go func() { l.Accept() }()
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "gc":
			runtime.GC()
		case "leaks":
			if p := pprof.Lookup("goroutineleak"); p != nil {
				if f, err := os.Create(os.DevNull); err == nil {
					p.WriteTo(f, 0)
				}
			}
		}
		b := make([]byte, 1<<20)
		fmt.Printf("%s\nend\n", b[:runtime.Stack(b, true)])
	}
	runtime.KeepAlive([]any{w, s, c, never})
}
