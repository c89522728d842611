// Command sites measures what it costs to read who keeps the memory of a process: its heap
// profile and its goroutines, with and without their stacks, as folio inspect --heap,
// --goroutines and folio leaks do.
//
//	go run ./cmd/bench/sites [-heap MiB] [-goroutines n]
//
// The process is this program again, with a heap and goroutines of that size.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/system/procmem"
)

func main() {
	heap := flag.Int("heap", 4096, "heap of the process, in `MiB`")
	goroutines := flag.Int("goroutines", 100_000, "`number` of its goroutines")
	be := flag.Bool("be", false, "be the process")
	flag.Parse()
	if *be {
		process(*heap, *goroutines)
		return
	}
	if err := measure(*heap, *goroutines); err != nil {
		fmt.Fprintln(os.Stderr, "sites:", err)
		os.Exit(1)
	}
}

type node struct {
	next *node
	_    [1016]byte
}

func wait(depth int, c chan int) {
	if depth > 0 {
		wait(depth-1, c)
		return
	}
	<-c
}

func process(mib, n int) {
	var list *node
	for range mib << 10 {
		list = &node{next: list}
	}
	c := make(chan int)
	for i := range n {
		go wait(i%10, c)
	}
	runtime.GC()
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	runtime.KeepAlive(list)
	_ = pprof.Lookup("heap")
}

func measure(heap, goroutines int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-be", fmt.Sprint("-heap=", heap), fmt.Sprint("-goroutines=", goroutines))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return err
	}
	ctx := context.Background()
	var target *goruntime.Target
	records, all := 0, 0
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"attach", func() (err error) {
			if target != nil {
				target.Close()
			}
			target, err = goruntime.Attach(procmem.FS{}, cmd.Process.Pid)
			return err
		}},
		{"heap profile", func() error {
			h, err := target.HeapProfile(ctx)
			if err == nil {
				records = len(h.Records)
				_, err = callsite.HeapProfile(h, callsite.Of(target), "program", time.Now())
			}
			return err
		}},
		{"goroutines", func() error {
			_, err := target.EachGoroutine(ctx, false, func(*goruntime.Goroutine) {})
			return err
		}},
		{"goroutines and stacks", func() error {
			g, err := callsite.ReadGoroutines(ctx, target)
			if err == nil {
				all = g.Total
			}
			return err
		}},
	} {
		var wall, cpu []time.Duration
		for range 5 {
			begin, used := time.Now(), usage()
			if err := c.do(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			wall, cpu = append(wall, time.Since(begin)), append(cpu, usage()-used)
		}
		slices.Sort(wall)
		slices.Sort(cpu)
		fmt.Printf("%-22s  %8.1f ms  %8.1f ms of CPU time\n", c.name, ms(wall[2]), ms(cpu[2]))
	}
	fmt.Printf("heap of %d MiB, %d records of its profile, %d goroutines; medians of 5\n", heap, records, all)
	fmt.Printf("peak RSS of the reader: %d MiB\n", peak()>>20)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
