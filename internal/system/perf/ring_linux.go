package perf

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is the buffer that the kernel writes records of one processor to.
type ring struct {
	fd   int // the event that it was mapped from; others write to it, too
	mem  []byte
	data []byte // within mem
}

// mapRing maps the ring of an event. size is a power of two.
func mapRing(fd, size int) (*ring, error) {
	page := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &ring{fd: fd, mem: mem, data: mem[page : page+size]}, nil
}

// control is the first page, through which the kernel and we say how far we are.
func (r *ring) control() *unix.PerfEventMmapPage {
	return (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.mem[0])) // Safety: mem is a whole mapped page and more; close ends its use.
}

// take appends what is between the last that was taken and what the kernel has
// written up to now to buf. The kernel does not write there until release.
// ok is false if the kernel's mark makes no sense.
func (r *ring) take(buf []byte) (_ []byte, ok bool) {
	c := r.control()
	// Loading the head before the data, and storing the tail after, is what
	// perf_event.h asks for; Go's atomics have the order that it takes.
	head, tail := atomic.LoadUint64(&c.Data_head), c.Data_tail
	if head == tail {
		return buf, true
	}
	n := uint64(len(r.data))
	if head-tail > n {
		atomic.StoreUint64(&c.Data_tail, head)
		return buf, false
	}
	from, to := tail%n, head%n
	if from < to {
		return append(buf, r.data[from:to]...), true
	}
	return append(append(buf, r.data[from:]...), r.data[:to]...), true
}

// release gives the next n bytes back to the kernel.
func (r *ring) release(n int) {
	c := r.control()
	atomic.StoreUint64(&c.Data_tail, c.Data_tail+uint64(n))
}

func (r *ring) close() error { return unix.Munmap(r.mem) }
