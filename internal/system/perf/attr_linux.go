package perf

import (
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"
)

// mode is how events are opened here: what the kernel can and allows.
type mode struct {
	hardware  bool
	kernel    bool
	frequency int
	layout    layout
	countLost bool // the kernel counts lost records by event
	system    bool // all processes: see OpenSystem
}

const sampleType = unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
	unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_CALLCHAIN

// arm64LR is the number of the link register in asm/perf_regs.h.
const arm64LR = 30

// returnLayout is what it takes to know where a function without a frame
// returns to.
func returnLayout() layout {
	switch runtime.GOARCH {
	case "amd64", "386":
		return layout{stack: true}
	case "arm64":
		return layout{regs: 1}
	}
	return layout{}
}

func (m mode) attr(kind Kind) *unix.PerfEventAttr {
	a := &unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Size:        unix.PERF_ATTR_SIZE_VER5,
		Sample_type: sampleType,
		Read_format: unix.PERF_FORMAT_ID,
		Bits:        unix.PerfBitDisabled | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID,
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	if m.countLost {
		a.Read_format |= unix.PERF_FORMAT_LOST
	}
	if m.system {
		a.Bits |= unix.PerfBitExcludeIdle
	}
	if !m.kernel {
		a.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | unix.PerfBitExcludeCallchainKernel
	}
	if m.layout.regs > 0 {
		a.Sample_type |= unix.PERF_SAMPLE_REGS_USER
		a.Sample_regs_user = 1 << arm64LR
	}
	if m.layout.stack {
		a.Sample_type |= unix.PERF_SAMPLE_STACK_USER
		a.Sample_stack_user = 8
	}
	switch {
	case kind == Fault:
		// At a frequency, which the kernel keeps by guessing, the sum would be off
		// by a third. Asked for the period, it would write a sample for each fault.
		a.Config = unix.PERF_COUNT_SW_PAGE_FAULTS
		a.Sample = faultPeriod
		a.Sample_type &^= unix.PERF_SAMPLE_PERIOD
	case kind == TLBMiss:
		a.Type = unix.PERF_TYPE_HW_CACHE
		a.Config = unix.PERF_COUNT_HW_CACHE_DTLB | unix.PERF_COUNT_HW_CACHE_OP_READ<<8 | unix.PERF_COUNT_HW_CACHE_RESULT_MISS<<16
		a.Sample_type, a.Sample_stack_user, a.Sample_regs_user = 0, 0, 0
		a.Bits &^= unix.PerfBitSampleIDAll
	case m.hardware:
		a.Type, a.Config = unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES
		a.Bits |= unix.PerfBitFreq
		a.Sample = uint64(m.frequency)
	default:
		a.Config = unix.PERF_COUNT_SW_CPU_CLOCK
		a.Sample = uint64(1e9 / m.frequency)
	}
	return a
}

// openEvent opens one event, which is disabled. cpu is -1 for all.
func openEvent(a *unix.PerfEventAttr, tid, cpu int) (int, error) {
	for {
		fd, err := unix.PerfEventOpen(a, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// counts is what can be read from an event; all include those events that
// inherited it.
type counts struct {
	value uint64 // what it counts
	id    uint64 // what its records are marked with
	lost  uint64 // records
}

func readEvent(fd int) (c counts, err error) {
	var b [24]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return c, err
	}
	if n < 16 {
		return c, unix.EIO
	}
	at := binary.NativeEndian.Uint64
	return counts{at(b[:]), at(b[8:]), at(b[16:])}, nil
}
