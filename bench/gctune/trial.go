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

	"github.com/foliomem/folio/internal/stat"
)

// result is what one process did. Its rate is 0 when it was killed.
type result struct {
	Rate   float64 `json:"rate"`
	GC     float64 `json:"gc"`
	Cycles float64 `json:"cycles"`
	rss    float64 // peak, in bytes
	killed bool
}

// once runs a workload under an arm in a fresh process, the machine held.
func (b *bench) once(ctx context.Context, workload int, a arm) (r result, err error) {
	err = b.machine.Trial(func() error {
		r, err = b.alone(ctx, workload, a)
		return err
	})
	return r, err
}

func (b *bench) alone(ctx context.Context, workload int, a arm) (result, error) {
	l := workloads[workload]
	args := []string{"-workload", l.name, "-tuner", a.tuner, "-limit", strconv.FormatUint(l.limit, 10), "-time", b.time.String()}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute+10*b.time)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.worker, args...)
	if b.parent != "" {
		group := filepath.Join(b.parent, fmt.Sprintf("folio-bench-%d", os.Getpid()))
		if err := makeGroup(group, l.limit); err != nil {
			return result{}, err
		}
		defer removeGroup(group)
		// The shell moves itself in before the program begins.
		cmd = exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, group, b.worker, "-inside"}, args...)...)
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

func column(rs []result, f func(result) float64) (out []float64) {
	for _, r := range rs {
		if !r.killed {
			out = append(out, f(r))
		}
	}
	return out
}

func rates(rs []result) []float64 { return column(rs, func(r result) float64 { return r.Rate }) }

func killed(rs []result) (n int) {
	for _, r := range rs {
		if r.killed {
			n++
		}
	}
	return n
}

// paired is the ratio of the rates, round by round, of the rounds that both
// survived.
func paired(base, rs []result) stat.Summary {
	var a, b []float64
	for i := range base {
		if !base[i].killed && !rs[i].killed {
			a, b = append(a, base[i].Rate), append(b, rs[i].Rate)
		}
	}
	return stat.PairedRatio(a, b)
}

func ratio(base, rs []result) string {
	r := paired(base, rs)
	if !(r.Median > 0) {
		return "-"
	}
	return fmt.Sprintf("%.3fx [%.3f, %.3f]", r.Median, r.Lo, r.Hi)
}
