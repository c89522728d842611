//go:build linux

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostile is a process that was made to harm whoever looks at it. It needs no
// privilege for any of that.
func hostile() {
	var (
		args  = flag.Int("args", 0, "say that the command line and the environment are so many `GiB` long")
		maps  = flag.Int("maps", 0, "map so many files with `n` names as long as the kernel allows")
		space = flag.Int("space", 0, "map so many `TiB`, with a page here and there")
		name  = flag.String("name", "", "be called `name`")
	)
	flag.Parse()
	if *name != "" {
		check(unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(unsafe.StringData(*name+"\x00"))), 0, 0, 0))
	}
	if *space > 0 {
		sparse(*space)
	}
	if *maps > 0 {
		mapMany(*maps)
	}
	if *args > 0 {
		longArguments(uintptr(*args) << 30)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// sparse maps address space and touches it every GiB.
func sparse(tib int) {
	const step = 1 << 30
	size := uint64(1 << 40) // more than an int of a 32-bit machine
	for range tib {
		b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
		check(err)
		for at := 0; at < len(b); at += step {
			b[at] = 1
		}
	}
}

// mapMany maps a file of the longest path so often that neighbors cannot be joined.
func mapMany(n int) {
	dir, err := os.MkdirTemp("", "folio-test-")
	check(err)
	top := dir
	part := strings.Repeat("x", 250)
	check(os.Chdir(dir))
	for len(dir) < 3700 {
		check(os.Mkdir(part, 0o700))
		check(os.Chdir(part))
		dir = filepath.Join(dir, part)
	}
	f, err := os.Create("file")
	check(err)
	check(f.Truncate(2 * int64(os.Getpagesize())))
	for range n {
		// The second page and then the first are not neighbors.
		for _, at := range []int64{int64(os.Getpagesize()), 0} {
			if _, err := unix.Mmap(int(f.Fd()), at, os.Getpagesize(), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE); err != nil {
				n = 0
				break // it is as many as may be
			}
		}
		if n == 0 {
			break
		}
	}
	check(os.RemoveAll(top))
}

// longArguments moves the command line and the environment (PR_SET_MM_MAP).
func longArguments(size uintptr) {
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	check(err)
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	stat, err := os.ReadFile("/proc/self/stat")
	check(err)
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
	number := func(i int) (n uint64) { // as proc_pid_stat(5) counts them
		_, err := fmt.Sscan(f[i-3], &n)
		check(err)
		return n
	}
	to := uint64(from + size/2)
	m := struct {
		code, codeEnd, data, dataEnd, brk, brkEnd, stack, arg, argEnd, env, envEnd uint64
		auxv                                                                       uint64
		auxvSize, exe                                                              uint32
	}{
		code: number(26), codeEnd: number(27), data: number(45), dataEnd: number(46), brk: number(47), brkEnd: number(47), stack: number(28),
		arg: uint64(from), argEnd: to, env: to, envEnd: uint64(from + size), exe: ^uint32(0),
	}
	check(unix.Prctl(unix.PR_SET_MM, unix.PR_SET_MM_MAP, uintptr(unsafe.Pointer(&m)), unsafe.Sizeof(m), 0))
}
