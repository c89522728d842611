package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// A habit is what the programs of a container have in memory.
type habit struct {
	name      string
	processes int
	do        func(dir string) error
	work      func(dir string, i int) error // again and again, under load
}

var kept []any // what a program holds

func hold(v any) { kept = append(kept, v) }

var habits = []habit{
	{"live heap", 1, func(string) error { hold(filled(192)); return nil }, churn},
	{"five heaps", 5, func(string) error { hold(filled(48)); return nil }, churn},
	{"goroutines", 1, goroutines, churn},
	{"tmpfs that nobody maps", 1, func(dir string) error { return os.WriteFile(filepath.Join(dir, "tmpfs"), make([]byte, 192*mib), 0o600) }, rewrite},
	{"memfd, half mapped", 1, memfd, churn},
	{"huge pages, half released", 1, huge, churn},
	{"page cache", 1, func(string) error { return os.WriteFile(os.Getenv(diskEnv), make([]byte, 192*mib), 0o600) }, overwrite},
	{"mapped file", 1, mapped, churn},
	{"packet ring", 1, ring, churn},
	{"full pipes", 1, pipes, churn},
}

// diskEnv names a file on disk.
const diskEnv = "FOLIO_BENCH_FILE"

// filled is a heap of so many MiB that was written.
func filled(n int) (out [][]byte) {
	for range n * mib / (16 << 10) {
		b := make([]byte, 16<<10)
		touch(b)
		out = append(out, b)
	}
	return out
}

func touch(b []byte) {
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
}

var sink atomic.Pointer[[]byte]

// churn allocates a MiB of garbage, and keeps 16 KiB of it for a while.
func churn(string, int) error {
	for range 64 {
		b := make([]byte, 16<<10)
		touch(b)
		sink.Store(&b)
	}
	return nil
}

func rewrite(dir string, i int) error {
	f, err := os.OpenFile(filepath.Join(dir, "tmpfs"), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if i%2 == 0 {
		return f.Truncate(int64(192-i%32) * mib)
	}
	_, err = f.WriteAt(make([]byte, mib), 150*mib)
	return err
}

func overwrite(string, int) error {
	f, err := os.OpenFile(os.Getenv(diskEnv), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(make([]byte, mib), int64(time.Now().UnixNano()%192)*mib)
	return err
}

func goroutines(string) error {
	wait := make(chan int)
	for range 50_000 {
		go func() { <-wait }()
	}
	hold(wait)
	return nil
}

func memfd(string) error {
	fd, err := unix.MemfdCreate("bench", 0)
	if err != nil {
		return err
	}
	if err := unix.Ftruncate(fd, 192*mib); err != nil {
		return err
	}
	b, err := unix.Mmap(fd, 0, 192*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	touch(b)
	hold(b)
	return unix.Madvise(b[:96*mib], unix.MADV_DONTNEED) // in the file, and not mapped
}

func huge(string) error {
	const page = 2 * mib
	b, err := unix.Mmap(-1, 0, 192*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	if err := unix.Madvise(b, unix.MADV_HUGEPAGE); err != nil {
		return err
	}
	touch(b)
	hold(b)
	for i := 0; i+page <= len(b); i += page { // whatever part of a huge page it is
		if err := unix.Madvise(b[i:i+page/2], unix.MADV_DONTNEED); err != nil {
			return err
		}
	}
	return nil
}

func mapped(string) error {
	f, err := os.Create(os.Getenv(diskEnv))
	if err != nil {
		return err
	}
	if _, err := f.Write(make([]byte, 192*mib)); err != nil {
		return err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 192*mib, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	hold(b)
	return err
}

func ring(string) error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		return err
	}
	const blocks, frame = 64, 2048
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING,
		&unix.TpacketReq{Block_size: mib, Block_nr: blocks, Frame_size: frame, Frame_nr: blocks * mib / frame}); err != nil {
		return err
	}
	b, err := unix.Mmap(fd, 0, blocks*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	hold(b)
	hold(filled(32))
	return err
}

func pipes(string) error {
	for range 200 {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		hold(r)
		hold(w)
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return err
		}
	}
	hold(filled(32))
	return nil
}

// target is a program of a container: it waits for a line, does what its habit is, and works
// after the next one. Asked again, it prints the longest that a page took to map.
func target(n int, dir string) error {
	in := bufio.NewScanner(os.Stdin)
	say := func(text string) { fmt.Println(text) }
	say("started")
	in.Scan()
	if size, ok := strings.CutPrefix(dir, "size="); ok {
		return measured(in, size)
	}
	h := habits[n]
	if err := h.do(dir); err != nil {
		return err
	}
	runtime.GC()
	say("done")
	if !in.Scan() {
		return nil
	}
	go func() {
		for i := 0; ; i++ {
			if err := h.work(dir, i); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	say("works")
	in.Scan()
	runtime.KeepAlive(kept)
	return nil
}

// measured has a heap of so many bytes, and maps a page each millisecond.
func measured(in *bufio.Scanner, size string) error {
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	hold(filled(n / mib))
	runtime.GC()
	fmt.Println("done")
	ask := make(chan bool)
	go func() {
		for in.Scan() {
			ask <- true
		}
		os.Exit(0)
	}()
	runtime.LockOSThread()
	for longest := time.Duration(0); ; time.Sleep(time.Millisecond) {
		begin := time.Now()
		b, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			return err
		}
		b[0] = 1
		_ = unix.Munmap(b)
		longest = max(longest, time.Since(begin))
		select {
		case <-ask:
			fmt.Println(longest.Nanoseconds())
			longest = 0
		default:
		}
	}
}
