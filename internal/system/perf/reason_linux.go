package perf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
)

// reason says what an error of perf_event_open means. tid is the thread that
// was to be sampled, 0 for ourselves; need is the highest perf_event_paranoid
// that allows it; level is the system's, if it has one.
func reason(err error, tid, need, level int, ok bool) (Cause, string) {
	errno, _ := errors.AsType[unix.Errno](err)
	switch errno {
	case unix.EACCES, unix.EPERM:
		if ok && level > need {
			return Paranoid, fmt.Sprintf("perf_event_paranoid is %d: echo %d > /proc/sys/kernel/perf_event_paranoid, or run with CAP_PERFMON", level, need)
		}
		if tid != 0 {
			return Foreign, procmem.New("").Denied(tid, "perfmon")
		}
		if errno == unix.EPERM {
			return Denied, "perf_event_open is forbidden here, probably by the seccomp filter of a container: docker run --cap-add PERFMON, or a seccomp profile that allows perf_event_open"
		}
		return Denied, "perf_event_open is forbidden here, probably by a security module such as SELinux: run with CAP_PERFMON"
	case unix.ENOSYS:
		if ok {
			return Denied, "perf_event_open is hidden here, probably by a sandbox or the seccomp filter of a container: allow perf_event_open"
		}
		return Unsupported, "this kernel has no perf events: it needs CONFIG_PERF_EVENTS"
	case unix.ENOENT, unix.EOPNOTSUPP, unix.ENODEV:
		return Unsupported, "this machine has no such counter, as most virtual machines"
	case unix.EMFILE:
		return Files, "too many open files, one or two are needed for each thread and processor: raise ulimit -n"
	case unix.ENFILE:
		return Files, "too many open files on this system: raise /proc/sys/fs/file-max"
	case unix.ESRCH:
		return Gone, "there is no such process"
	}
	return Other, ""
}

// parseCPUs parses a list such as "0-3,8". It returns nil for what is none.
func parseCPUs(s string) []int {
	const most = 1 << 16
	var list []int
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || a < 0 || b < a || b >= most || len(list) > most {
			return nil
		}
		for i := a; i <= b; i++ {
			list = append(list, i)
		}
	}
	return list
}
