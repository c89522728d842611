package trial

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
)

// The CPU time of a process is that of its clock, not of the steps in its stat.
func TestCPUTimeIsFine(t *testing.T) {
	own := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
			t.Fatal(err)
		}
		return time.Duration(ts.Nano())
	}
	before := own()
	got := CPUTime(procmem.Stat{PID: os.Getpid()})
	if after := own(); got < before || got > after {
		t.Errorf("%v, want between %v and %v", got, before, after)
	}
	gone := procmem.Stat{PID: 1 << 22, UTime: 20 * time.Millisecond, STime: 10 * time.Millisecond}
	if got := CPUTime(gone); got != 30*time.Millisecond {
		t.Errorf("without a clock %v, want the steps", got)
	}
}

// The sum is that of the clock; the steps say how it splits.
func TestUsageSince(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		before, after usage
		user, sys     float64
	}{
		{usage{}, usage{user: 30 * ms, sys: 10 * ms, cpu: 44 * ms}, 0.033, 0.011},
		{usage{user: 10 * ms, sys: 30 * ms, cpu: 41 * ms}, usage{user: 10 * ms, sys: 30 * ms, cpu: 45 * ms}, 0.001, 0.003},
		{usage{}, usage{cpu: 4 * ms}, 0.004, 0},
		{usage{}, usage{user: 70 * ms, cpu: 96779274}, 0.096779274, 0},
		{usage{user: 10 * ms, cpu: 12 * ms}, usage{}, 0, 0}, // it ended
	} {
		user, sys := c.after.since(c.before)
		if user < 0 || sys < 0 {
			t.Errorf("%+v: less than none: %v and %v", c, user, sys)
		}
		if round := func(v float64) time.Duration { return time.Duration(v*1e9 + 0.5) }; round(user) != round(c.user) || round(sys) != round(c.sys) {
			t.Errorf("%+v: %v and %v", c, user, sys)
		}
	}
}

func TestAttachRefusesKernelThreads(t *testing.T) {
	st, err := procmem.New("").Stat(2)
	if err != nil || !st.Kernel {
		t.Skip("process 2 is no thread of the kernel here")
	}
	if _, err := Attach(t.Context(), procmem.New(""), 2, 99, time.Minute, Keep{}); !errors.Is(err, procmem.ErrKernelThread) || err.Error() != "--attach 2: a thread of the kernel: it has no memory of its own" {
		t.Errorf("error %v", err)
	}
}
