package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// result is what one process did. Its rate is 0 when it was killed.
type result struct {
	Rate   float64 `json:"rate"`
	CPU    float64 `json:"cpu"` // processors
	GC     float64 `json:"gc"`
	Cycles float64 `json:"cycles"`
	rss    float64 // peak, in bytes
	killed bool
}

// once runs a workload under an arm in a fresh process, the machine held.
func (b *bench) once(ctx context.Context, l *workload, a arm, d time.Duration) (r result, err error) {
	err = b.machine.Trial(func() error {
		r, err = b.alone(ctx, l, a, d)
		return err
	})
	return r, err
}

func (b *bench) alone(ctx context.Context, l *workload, a arm, d time.Duration) (result, error) {
	args := []string{"-workload", l.name, "-tuner", a.tuner, "-limit", strconv.FormatUint(l.limit, 10), "-time",
		d.String(), fmt.Sprintf("-whole=%v", l.period == 0 && l.name != "rest")}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute+10*d)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.worker, args...)
	if b.parent != "" {
		group := filepath.Join(b.parent, fmt.Sprintf("folio-bench-%d", os.Getpid()))
		if err := makeGroup(group, l.limit); err != nil {
			return result{}, err
		}
		defer removeGroup(group)
		// The shell moves itself in before the program begins.
		cmd = exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`,
			group, b.worker, "-inside"}, args...)...)
	}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GOGC=") && !strings.HasPrefix(e, "GOMEMLIMIT=") && !strings.HasPrefix(e, "GODEBUG=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	if a.gogc != "" {
		cmd.Env = append(cmd.Env, "GOGC="+a.gogc)
	}
	if a.share > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GOMEMLIMIT=%.0f", a.share*float64(l.limit)))
	}
	dieWithUs(cmd)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The host of a virtual machine takes memory back that nobody uses, and is slow
	// to supply it again: by five times what a page costs that is there. Whether it
	// is there must not depend on which arm ran before.
	if err := exec.CommandContext(ctx, b.worker, "-touch", strconv.FormatUint(l.limit, 10)).Run(); err != nil {
		return result{}, err
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	var r result
	if cmd.ProcessState != nil {
		r.rss = peakRSS(cmd.ProcessState)
		if wasKilled(cmd.ProcessState) {
			r.killed = true
			return r, nil
		}
	}
	if err != nil {
		return result{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		return result{}, err
	}
	if b.parent == "" && r.rss > float64(l.limit) {
		r.Rate, r.killed = 0, true
	}
	return r, nil
}

// cgroups is a directory in which memory cgroups of version 1 can be made, or "".
func cgroups() string {
	const root = "/sys/fs/cgroup/memory"
	group := filepath.Join(root, fmt.Sprintf("folio-bench-%d", os.Getpid()))
	if err := makeGroup(group, 1<<30); err != nil {
		removeGroup(group)
		return ""
	}
	removeGroup(group)
	return root
}

func makeGroup(dir string, limit uint64) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "memory.limit_in_bytes"), []byte(strconv.FormatUint(limit, 10)), 0o644)
}

// removeGroup waits for the kernel to let go of a process that was killed.
func removeGroup(dir string) {
	for range 100 {
		if err := os.Remove(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, "gctune: cannot remove", dir)
}
