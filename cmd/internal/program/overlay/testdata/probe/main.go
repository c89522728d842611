// Command probe does one kind of work and prints what it cost: page faults, bytes
// resident and on huge pages, GC cycles, mark assists. It imports next to nothing, since its tests
// build the standard library anew.
package main

import (
	"runtime"
	"runtime/metrics"
	"syscall"
)

var sink []byte

func main() {
	work, _ := syscall.Getenv("WORK")
	switch work {
	case "map":
		m := make(map[int64]int64)
		for i := range int64(4_000_000) {
			m[i*2654435761] = i
		}
		report()
		runtime.KeepAlive(m)
	case "garbage": // 64 MiB, none of it live
		var before runtime.MemStats
		runtime.ReadMemStats(&before)
		println("first", before.NextGC)
		for range 64 << 10 {
			sink = make([]byte, 1<<10)
		}
		runtime.GC() // waits for the cycle that is under way, which then counts
		report()
	case "assist":
		assist()
	default:
		panic("no WORK")
	}
}

type node struct {
	next  *node
	value uintptr
	rest  [2]*node
}

// assist allocates while the GC marks a list of 16 MiB, which takes it long: one node
// leads to the next.
func assist() {
	const nodes, cycles = 512 << 10, 12
	var list *node
	for i := range uintptr(nodes) {
		list = &node{next: list, value: i}
	}
	runtime.GC()
	from, assisted := read("/gc/cycles/total:gc-cycles").Uint64(), read(assistTime).Float64()
	if percent, _ := syscall.Getenv("GOGC"); percent == "off" {
		go func() {
			for range cycles {
				runtime.GC()
			}
		}()
	}
	// Goroutines that end give the credit back that they have.
	short, _ := syscall.Getenv("SHORT")
	done := make(chan bool)
	for read("/gc/cycles/total:gc-cycles").Uint64() < from+cycles {
		if short == "" {
			litter(0, 1<<10)
			continue
		}
		for i := range garbage {
			go func() {
				litter(i, 64)
				done <- true
			}()
		}
		for range garbage {
			<-done
		}
	}
	n := uintptr(0)
	for at := list; at != nil; at = at.next {
		if n++; at.value != nodes-n {
			panic("a node of the list was lost")
		}
	}
	println("nodes", n)
	println("limited", int(read("/gc/limiter/last-enabled:gc-cycle").Uint64()))
	println("assist-ns", int((read(assistTime).Float64()-assisted)*1e9))
	println("mark-ns", int(read("/cpu/classes/gc/mark/dedicated:cpu-seconds").Float64()*1e9)) // fractional workers are in it
}

var garbage [64]*[128]*byte

func litter(i, n int) {
	for range n {
		garbage[i] = new([128]*byte)
	}
}

const assistTime = "/cpu/classes/gc/mark/assist:cpu-seconds"

func read(name string) metrics.Value {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value
}

func report() {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	println("faults", usage.Minflt)
	println("collections", stats.NumGC-stats.NumForcedGC)
	println("resident", rollup("Rss:"))
	println("huge", rollup("AnonHugePages:"))
}

// rollup returns a line of smaps_rollup, in bytes.
func rollup(name string) int {
	fd, err := syscall.Open("/proc/self/smaps_rollup", syscall.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	buf := make([]byte, 4<<10)
	n, err := syscall.Read(fd, buf)
	if err != nil {
		panic(err)
	}
	text := string(buf[:n])
	for i := 0; i+len(name) <= len(text); i++ {
		if text[i:i+len(name)] != name {
			continue
		}
		kib := 0
		for _, c := range text[i+len(name):] {
			if c >= '0' && c <= '9' {
				kib = kib*10 + int(c-'0')
			} else if c != ' ' {
				return kib << 10
			}
		}
	}
	panic("no " + name)
}
