package procmem

import (
	"fmt"
	"strconv"
	"strings"
)

// Status is /proc/PID/status, as far as Folio uses it. A kernel thread and a
// zombie have no memory: their sizes are nil. See proc_pid_status(5).
type Status struct {
	TGID *int // differs from PID for a thread
	PID  *int
	PPID *int
	UID  *int // real
	EUID *int // effective

	VmHWM        *uint64 // the most that was ever resident; exec starts it anew
	VmRSS        *uint64
	VmLck        *uint64 // in mappings that are locked, in memory or not
	RssAnon      *uint64 // kernel 4.5+
	RssFile      *uint64
	RssShmem     *uint64
	VmSwap       *uint64
	VmPTE        *uint64 // page tables; not part of VmRSS
	HugetlbPages *uint64 // not part of VmRSS

	// THPEnabled is whether the kernel may give this process transparent huge
	// pages: false after prctl(PR_SET_THP_DISABLE). Kernel 5.0+.
	THPEnabled *bool
	Threads    *int

	// Ignored has a bit for each signal that the process ignores: bit 0 is signal 1.
	Ignored *uint64
}

// Status reads /proc/PID/status; pid 0 is the calling process.
func (f FS) Status(pid int) (Status, error) {
	return load(f.procPath(pid, "status"), parseStatus)
}

func parseStatus(data []byte) (Status, error) {
	var s Status
	sizes, err := setSizes(data, map[string]**uint64{
		"VmHWM": &s.VmHWM, "VmRSS": &s.VmRSS, "VmLck": &s.VmLck, "RssAnon": &s.RssAnon, "RssFile": &s.RssFile,
		"RssShmem": &s.RssShmem, "VmSwap": &s.VmSwap, "VmPTE": &s.VmPTE, "HugetlbPages": &s.HugetlbPages,
	})
	if err != nil {
		return Status{}, err
	}
	others := 0
	err = eachField(data, func(key, value string) error {
		var dst []**int
		switch key {
		case "Tgid":
			dst = []**int{&s.TGID}
		case "Pid":
			dst = []**int{&s.PID}
		case "PPid":
			dst = []**int{&s.PPID}
		case "Threads":
			dst = []**int{&s.Threads}
		case "Uid":
			dst = []**int{&s.UID, &s.EUID}
		case "THP_enabled":
			switch value {
			case "0", "1":
				s.THPEnabled = new(value == "1")
			default:
				return fmt.Errorf("want 0 or 1, have %q", value)
			}
		case "SigIgn":
			n, err := strconv.ParseUint(value, 16, 64)
			if err != nil {
				return err
			}
			s.Ignored = &n
		default:
			return nil
		}
		others++
		numbers := strings.Fields(value)
		if len(numbers) < len(dst) {
			return fmt.Errorf("want %d numbers, have %q", len(dst), value)
		}
		for i, d := range dst {
			n, err := strconv.Atoi(numbers[i])
			if err != nil {
				return err
			}
			*d = &n
		}
		return nil
	})
	if err == nil && sizes+others == 0 {
		err = errEmpty
	}
	if err != nil {
		return Status{}, err
	}
	return s, nil
}

// THPDisabled reports whether the process turned huge pages off for itself: by prctl, or
// by inheriting that. Kernels before 5.0 do not say; then it did not.
func (s Status) THPDisabled() bool { return s.THPEnabled != nil && !*s.THPEnabled }
