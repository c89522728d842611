package pin

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const self = "/proc/self/task"

// Process pins all threads of this process, and those that they start, to one CPU.
func Process(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	pinned := make(map[int]bool)
	// A thread may start one while this goes on, which then may be pinned or not.
	for more := true; more; {
		entries, err := os.ReadDir(self)
		if err != nil {
			return err
		}
		more = false
		for _, e := range entries {
			tid, err := strconv.Atoi(e.Name())
			if err != nil || pinned[tid] {
				continue
			}
			if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
				return fmt.Errorf("pin to CPU %d: %w", cpu, err)
			}
			pinned[tid], more = true, true
		}
	}
	return nil
}

// Allowed lists the CPUs that this process may run on.
func Allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, os.NewSyscallError("sched_getaffinity", err)
	}
	var out []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			out = append(out, cpu)
		}
	}
	return out, nil
}
