// Command program prints what its own runtime says of its code, for the tests
// to compare. A line for each place has, with tabs between, what it is, its
// offset in the file, and its frames.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

type number interface{ ~int | ~uint8 }

type shape struct{ side int }

//go:noinline
func here(kind string) int {
	var pcs [32]uintptr
	n := runtime.Callers(2, pcs[:])
	frames := runtime.CallersFrames(pcs[:n])
	var lines []string
	for {
		f, more := frames.Next()
		lines = append(lines, frame(f))
		if !more {
			break
		}
	}
	if len(lines) != n {
		panic("not a frame for each address")
	}
	// An address that Callers gives is that of one frame, also of an inlined
	// one, and the frames around it come after it.
	for i, pc := range pcs[:n] {
		fmt.Fprintf(out, "%s\t%d\t%s\n", kind, offset(pc), strings.Join(lines[i:], "\t"))
	}
	return n
}

func small(n int) int         { return here("stack") + n }
func middle(n int) int        { return small(n) * 2 }
func generic[T number](n T) T { return n + T(middle(int(n))) }
func (s shape) area() int     { return s.side * small(s.side) }
func (s *shape) grow() int    { s.side++; return s.area() }

type sized interface{ area() int }

//go:noinline
func outer(s sized) int {
	grow := func() int { return middle(2) }
	return s.area() + grow() + generic(3) + int(generic(uint8(4)))
}

func frame(f runtime.Frame) string {
	return fmt.Sprintf("%s|%s|%d", f.Function, f.File, f.Line)
}

// code is where the program's code is mapped.
type code struct{ from, to, offset uintptr }

var (
	out  = bufio.NewWriter(os.Stdout)
	maps []code
)

func offset(pc uintptr) uintptr {
	for _, m := range maps {
		if pc >= m.from && pc < m.to {
			return pc - m.from + m.offset
		}
	}
	panic("address in no mapping")
}

func readMaps() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	data, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(data), "\n") {
		var c code
		var flags string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x", &c.from, &c.to, &flags, &c.offset); n == 4 && strings.Contains(flags, "x") && strings.HasSuffix(line, " "+exe) {
			maps = append(maps, c)
		}
	}
}

func main() {
	defer out.Flush()
	if len(os.Args) > 1 {
		fmt.Sscan(os.Args[1], &step)
	}
	readMaps()
	s := &shape{3}
	outer(s)
	outer(*s)
	s.grow()
	here("stack")
	everything()
}

// step is the distance of the addresses that everything looks at; 1 is all of them.
var step uintptr = 97

// everything prints the frames of places all over the code. The second
// address, which is none, makes the runtime print the frames around inlined
// ones, from Go 1.23 on.
func everything() {
	for _, m := range maps {
		for pc := m.from + 1; pc < m.to; pc += step {
			if runtime.FuncForPC(pc) == nil || runtime.FuncForPC(pc-1) == nil {
				continue // not Go
			}
			if runtime.FuncForPC(pc).Entry() == pc {
				continue // the runtime does not take that for a return address
			}
			frames := runtime.CallersFrames([]uintptr{pc, 1})
			var lines []string
			for {
				f, more := frames.Next()
				lines = append(lines, frame(f))
				if !more {
					break
				}
			}
			fmt.Fprintf(out, "code\t%d\t%s\n", pc-m.from+m.offset, strings.Join(lines, "\t"))
		}
	}
}
