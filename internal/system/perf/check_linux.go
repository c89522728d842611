package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Check says why processes of the same user cannot be sampled here, as an
// [*Error], or nil if they can. What is missing beyond that is in [Info].
func Check() error {
	_, _, err := probe("sample")
	return err
}

// probe finds out what can be sampled, with events on the calling thread that
// never run. missing is what cannot, for people. Only the search for a cycle
// counter that works is done once: what the system allows can change.
func probe(op string) (m mode, missing []string, err error) {
	m = mode{kernel: true, frequency: 1, countLost: true, layout: returnLayout()}
	try := func(kind Kind) error {
		fd, err := openEvent(m.attr(kind), 0, -1)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	// What older kernels and other processors do not know has no error of its own.
	unknown := func(err error) bool { return err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP }
	for {
		err := try(CPU)
		switch {
		case err == nil:
		case (err == unix.EACCES || err == unix.EPERM) && m.kernel:
			m.kernel = false
			missing = append(missing, "the kernel's side is hidden: "+why(err, 1))
			continue
		case unknown(err) && m.countLost:
			m.countLost = false
			continue
		case unknown(err) && m.layout != layout{}:
			m.layout = layout{}
			continue
		default:
			return m, nil, explain(op, err, 0)
		}
		break
	}
	if m.hardware = cycles(m); !m.hardware {
		missing = append(missing, "no cycle counter can be used here, as in most virtual machines: time is sampled by the clock, and misses of the TLB cannot be counted")
	}
	return m, missing, nil
}

// explain makes an Error. tid is 0 if the event was on ourselves.
func explain(op string, err error, tid int) *Error {
	e := &Error{Op: op, Err: err}
	if re, ok := errors.AsType[ringError](err); ok {
		e.Err, e.Cause = re.error, Memory
		e.Text = "no memory can be locked for its buffers: raise /proc/sys/kernel/perf_event_mlock_kb or ulimit -l, or end other programs that sample"
		return e
	}
	level, ok := paranoid()
	e.Cause, e.Text = reason(err, tid, 2, level, ok)
	return e
}

// why says what an error with an event on ourselves means, where
// perf_event_paranoid must not be higher than need.
func why(err error, need int) string {
	level, ok := paranoid()
	_, text := reason(err, 0, need, level, ok)
	return text
}

// paranoid returns the system's perf_event_paranoid; ok is false if it has none.
func paranoid() (level int, ok bool) {
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return 0, !errors.Is(err, fs.ErrNotExist)
	}
	level, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	return level, true
}

// maxFrequency is what the system allows.
func maxFrequency() int {
	b, err := os.ReadFile("/proc/sys/kernel/perf_event_max_sample_rate")
	n, numErr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || numErr != nil || n < 1 {
		return 1000 // too low harms less than an error
	}
	return n
}

var cyclesWork struct {
	sync.Mutex
	known, yes bool
}

// cycles reports whether the processor's cycle counter can be sampled. That an
// event can be opened does not mean that it counts, nor that it interrupts:
// some virtual machines have a counter that stands still.
func cycles(m mode) bool {
	cyclesWork.Lock()
	defer cyclesWork.Unlock()
	if !cyclesWork.known {
		cyclesWork.yes, cyclesWork.known = tryCycles(m)
	}
	return cyclesWork.yes
}

func tryCycles(m mode) (yes, known bool) {
	if several, _ := filepath.Glob("/sys/bus/event_source/devices/*/cpus"); len(several) > 1 {
		return false, true // processors of different kinds: an event counts on one of them only
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m.hardware = true
	a := m.attr(CPU)
	a.Bits &^= unix.PerfBitFreq | unix.PerfBitDisabled
	a.Sample = 100_000
	fd, err := openEvent(a, 0, -1)
	if err != nil {
		return false, err == unix.ENOENT || err == unix.EOPNOTSUPP
	}
	defer unix.Close(fd)
	r, err := mapRing(fd, os.Getpagesize())
	if err != nil {
		return false, false
	}
	defer r.close()
	for begin := time.Now(); time.Since(begin) < 20*time.Millisecond; {
		if atomic.LoadUint64(&r.control().Data_head) != 0 {
			return true, true
		}
	}
	return false, true
}

// onlineCPUs returns the numbers of the processors that run.
func onlineCPUs() ([]int, error) {
	const path = "/sys/devices/system/cpu/online"
	b, err := os.ReadFile(path)
	if err != nil {
		// A container may hide it. The numbers are almost always these.
		list := make([]int, runtime.NumCPU())
		for i := range list {
			list[i] = i
		}
		return list, nil
	}
	list := parseCPUs(strings.TrimSpace(string(b)))
	if len(list) == 0 {
		return nil, fmt.Errorf("read %s: %q is not a list of processors", path, b)
	}
	return list, nil
}
