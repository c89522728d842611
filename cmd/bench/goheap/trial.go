package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/internal/system/procmem"
)

// result is what one trial measured, by name; times in seconds, sizes in bytes.
type result map[string]float64

func command(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// trial runs a workload under an arm in a fresh process, the machine held and its
// settings as the arm wants them.
func (b *bench) trial(ctx context.Context, l workload, arm string) (r result, err error) {
	err = b.machine.Trial(func() (err error) {
		if ctx.Err() != nil { // it may have waited for the machine
			return ctx.Err()
		}
		if err := b.settings.Apply(l.changes(arm)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.settings.Restore()) }()
		r, err = b.alone(ctx, l, arm)
		return err
	})
	return r, err
}

const most = 10 * time.Minute // for one trial

// touch touches as much memory as the workload takes: before each trial, and again
// when the program has built what it has.
func (b *bench) touch(ctx context.Context, l workload) error {
	if l.memory == 0 || b.quick {
		return nil
	}
	return touch.Memory(ctx, l.memory)
}

func (b *bench) alone(ctx context.Context, l workload, arm string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if err := b.touch(ctx, l); err != nil {
		return nil, err
	}
	args := l.args
	if b.quick {
		args = append(args[:len(args):len(args)], l.quick...)
	}
	cmd := exec.CommandContext(ctx, b.program(l.pkg), args...)
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "FOLIO", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS":
		default:
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, l.environment(arm)...)
	dieWithUs(cmd)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r, err := b.follow(ctx, l, cmd.Process.Pid, arm, in, bufio.NewScanner(out))
	if err != nil {
		cancel()
	}
	in.Close()
	werr := cmd.Wait()
	if err == nil {
		err = werr
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	if stderr.Len() > 0 && b.verbose {
		fmt.Fprintf(os.Stderr, "%s", stderr.Bytes())
	}
	return r, nil
}

// follow leads a process through its phases and looks at it from outside.
func (b *bench) follow(ctx context.Context, l workload, pid int, arm string, in io.Writer, out *bufio.Scanner) (result, error) {
	r := result{}
	if err := phase(out, "ready", r); err != nil {
		return nil, err
	}
	watch := b.startWatch(pid)
	defer watch.stop()
	if _, err := io.WriteString(in, "\n"); err != nil {
		return nil, err
	}
	if err := b.touch(ctx, l); err != nil {
		return nil, err
	}
	if arm == collapse {
		began := time.Now()
		if err := command(ctx, b.program("./cmd/folio"), "collapse", strconv.Itoa(pid)); err != nil {
			return nil, fmt.Errorf("folio collapse: %w", err)
		}
		r["collapse"] = time.Since(began).Seconds()
	}
	if err := phase(out, "done", r); err != nil {
		return nil, err
	}
	watch.stop()
	if err := watch.figures(r); err != nil {
		return nil, err
	}
	if err := memory(b.fs, pid, r); err != nil {
		return nil, err
	}
	_, err := io.WriteString(in, "\n")
	return r, err
}

// phase reads the figures of the next phase.
func phase(out *bufio.Scanner, name string, r result) error {
	if !out.Scan() {
		return errors.Join(fmt.Errorf("the program has no phase %s", name), out.Err())
	}
	var p struct {
		Phase   string
		Figures map[string]float64
	}
	if err := json.Unmarshal(out.Bytes(), &p); err != nil {
		return fmt.Errorf("phase %s: %w in %q", name, err, out.Text())
	}
	if p.Phase != name {
		return fmt.Errorf("phase %s where %s was expected", p.Phase, name)
	}
	for k, v := range p.Figures {
		r[k] = v
	}
	return nil
}

// memory is what the whole process has in memory.
func memory(fs procmem.FS, pid int, r result) error {
	s, err := fs.SmapsRollup(pid)
	if err != nil {
		return err
	}
	if s.Rss == nil || s.AnonHugePages == nil {
		return errors.New("smaps_rollup lacks Rss or AnonHugePages")
	}
	r["rss"], r["huge"] = float64(*s.Rss), float64(*s.AnonHugePages)
	status, err := fs.Status(pid)
	if err == nil && status.VmHWM != nil {
		r["peak"] = float64(*status.VmHWM)
	}
	return err
}
