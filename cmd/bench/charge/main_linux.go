package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

const (
	bound    = 0.02 // by how much a sum may be off at rest
	readings = 10   // under load
	settles  = 3 * time.Second
)

func main() {
	log.SetFlags(0)
	costs := flag.String("cost", "", "measure what reading costs instead, on a container with 20 processes that have this `size` together")
	role := flag.Int("target", -1, "be a program with this habit")
	dir := flag.String("dir", "", "with -target: its directory")
	flag.Parse()
	if *role >= 0 {
		if err := target(*role, *dir); err != nil {
			log.Fatal(err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *costs != "" {
		var size uint64
		if size, err = unit.ParseSize(*costs); err == nil {
			err = cost(ctx, size)
		}
	} else {
		err = run(ctx)
	}
	cgroup.CloseAll()
	if err != nil {
		stop()
		log.Fatal(err)
	}
}

// A container is a cgroup with programs.
type container struct {
	group    *cgroup.Group
	programs []*program
}

type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// begin starts so many programs in a cgroup: all that they allocate is charged there.
func begin(ctx context.Context, p *cgroup.Parent, n int, args, env []string) (c *container, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c = &container{}
	if c.group, err = p.New(); err != nil {
		return nil, err
	}
	for range n {
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		x := &program{cmd: cmd}
		if x.in, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		x.out = bufio.NewReader(out)
		if err := c.start(cmd); err != nil {
			return nil, err
		}
		c.programs = append(c.programs, x)
		if err := x.says("started"); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *container) start(cmd *exec.Cmd) error {
	dir, err := c.group.Dir()
	if err != nil {
		return err
	}
	if dir != nil {
		defer dir.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leave, err := c.group.Enter(unix.Gettid())
	if err != nil {
		return err
	}
	defer leave()
	return cmd.Start()
}

func (p *program) says(want string) error {
	line, err := p.out.ReadString('\n')
	if err == nil && line != want+"\n" {
		err = fmt.Errorf("it said %q, not %q", line, want)
	}
	return err
}

// tell tells all programs to go on, and waits until they have.
func (c *container) tell(want string) error {
	for _, p := range c.programs {
		if _, err := p.in.Write([]byte("\n")); err != nil {
			return err
		}
	}
	for _, p := range c.programs {
		if err := p.says(want); err != nil {
			return err
		}
	}
	return nil
}

// end ends the programs, and removes the cgroup.
func (c *container) end() error {
	for _, p := range c.programs {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	return c.group.Remove()
}

// off is by how much the parts are off the charge, as a share.
func off(c *charge.Charge) float64 {
	return float64(max(c.Unexplained-c.Reserve, c.Excess)) / float64(max(c.Usage, 1))
}

func run(ctx context.Context) (err error) {
	p, err := cgroup.Open(procmem.FS{}, cgroup.Limits{Memory: new(uint64(2 << 30))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	disk, err := os.MkdirTemp("", "folio-bench-charge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(disk)
	memory, err := os.MkdirTemp("/dev/shm", "folio-bench-charge-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(memory)
	sys := inspect.New()
	tb := table.New(os.Stdout, "container", "charge", "RSS", "largest part", "sum, at rest", "a reading", "sum, working", "worst", "charge moved")
	var wrong []string
	for i, h := range habits {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c, err := begin(ctx, p, h.processes, []string{"-target", strconv.Itoa(i), "-dir", memory}, []string{diskEnv + "=" + filepath.Join(disk, strconv.Itoa(i))})
		if err == nil {
			err = c.tell("done")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		time.Sleep(settles) // the kernel adds up what CPUs counted every two seconds
		g, err := charge.At(c.group.MemoryDir())
		if err != nil {
			return err
		}
		rest, err := charge.New(sys, g).Read()
		if err != nil {
			return err
		}
		if off(rest) > bound {
			wrong = append(wrong, h.name)
		}
		if err := c.tell("works"); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		var sums, moved, times []float64
		for range readings {
			time.Sleep(100 * time.Millisecond)
			at, err := charge.New(sys, g).Read()
			if err != nil {
				return err
			}
			sums, times = append(sums, off(at)), append(times, at.Took.Seconds())
			moved = append(moved, float64(max(at.Moved, -at.Moved))/float64(at.Usage))
		}
		var rss uint64
		for _, p := range rest.Processes {
			rss += p.RSS
		}
		tb.Row(h.name, unit.Size(rest.Usage), unit.Size(rss), largest(rest), unit.Percent(off(rest)), unit.Seconds(stat.Summarize(times).Median),
			unit.Percent(stat.Summarize(sums).Median), unit.Percent(slices.Max(sums)), unit.Percent(stat.Summarize(moved).Median))
		if err := c.end(); err != nil {
			return err
		}
		_ = os.Remove(filepath.Join(memory, "tmpfs"))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("off by more than %s at rest: %s", unit.Percent(bound), strings.Join(wrong, ", "))
	}
	return nil
}

func largest(c *charge.Charge) string {
	p := slices.MaxFunc(c.Parts, func(a, b charge.Part) int { return int(a.Bytes>>10) - int(b.Bytes>>10) })
	return p.Kind.Title() + " " + unit.Size(p.Bytes)
}
