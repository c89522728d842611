//go:build linux

// Package killtest starts programs through a launcher and kills the launcher,
// its helper or the program at random moments: whatever happens, nothing may be
// left, nothing may stay stopped, and no program may fail but those that were
// killed themselves.
package killtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Test is what to start. Command must end with exit code 0 within a minute,
// having printed a line that begins with Says.
type Test struct {
	Command []string
	Env     []string // beside this process's
	Says    string
	// Longest is the longest time that a launch takes; kills are spread over it.
	Longest time.Duration
	Random  *rand.Rand
}

// A Report counts what happened.
type Report struct {
	Starts          int
	KilledLauncher  int // or the program that it has become
	KilledHelper    int
	Undisturbed     int // that ended before they were hit, or were left alone
	SurvivedKilling int // programs that ran well although their helper was killed
}

// Run starts the command n times. The error says what went wrong at last.
func (t Test) Run(n int) (r Report, err error) {
	mark := fmt.Sprintf("FOLIO_KILLTEST=%d-%d", os.Getpid(), time.Now().UnixNano())
	var faults []error
	for range n {
		r.Starts++
		if err := t.once(&r, mark); err != nil {
			faults = append(faults, fmt.Errorf("start %d: %w", r.Starts, err))
		}
		if left := LeftOver(mark); left != "" {
			faults = append(faults, fmt.Errorf("start %d: left over: %s", r.Starts, left))
			break
		}
	}
	return r, errors.Join(faults...)
}

// once starts the command, and kills someone or nobody.
func (t Test) once(r *Report, mark string) error {
	cmd := exec.Command(t.Command[0], t.Command[1:]...)
	cmd.Env = append(append(os.Environ(), t.Env...), mark)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	victim := 0
	switch t.Random.IntN(5) {
	case 0, 1:
		time.Sleep(time.Duration(t.Random.Int64N(int64(t.Longest))))
		victim = pid
	case 2, 3:
		if victim = helper(pid, t.Longest); victim != 0 {
			// It lives for a millisecond or two.
			spin(time.Duration(t.Random.Int64N(int64(1500 * time.Microsecond))))
		}
	}
	hit := victim != 0 && syscall.Kill(victim, syscall.SIGKILL) == nil
	err := ended(cmd)
	ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	ran := err == nil && strings.Contains("\n"+out.String(), "\n"+t.Says)
	switch {
	case hit && victim == pid && ws.Signaled() && ws.Signal() == syscall.SIGKILL:
		r.KilledLauncher++
	case !ran:
		return fmt.Errorf("%v, %v, killed process %d (%v; the launcher was %d): %s", err, cmd.ProcessState, victim, hit, pid, out.String())
	case hit && victim != pid:
		r.KilledHelper++
		r.SurvivedKilling++
	default:
		r.Undisturbed++
	}
	return nil
}

// spin waits for less than a sleep can.
func spin(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		continue
	}
}

// helper looks for a child of the launcher; 0 if there is none in time.
func helper(pid int, longest time.Duration) int {
	path := fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)
	for end := time.Now().Add(longest); time.Now().Before(end); {
		data, err := os.ReadFile(path)
		if f := strings.Fields(string(data)); err == nil && len(f) > 0 {
			n, _ := strconv.Atoi(f[0])
			return n
		}
	}
	return 0
}

// ended waits for the end of a command, at most a minute.
func ended(cmd *exec.Cmd) error {
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait()
}

// LeftOver names a process with the mark in its environment that is there although all
// have ended; "" for none. A helper may take a moment to see that.
func LeftOver(mark string) (found string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if found = withMark(mark); found == "" {
			return ""
		}
	}
	return found
}

func withMark(mark string) string {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range paths {
		if data, err := os.ReadFile(p); err == nil && bytes.Contains(data, []byte(mark)) {
			status, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "stat"))
			return strings.TrimSpace(string(status))
		}
	}
	return ""
}
