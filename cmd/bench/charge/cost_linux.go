package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
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

// processes is how many the container of the costs has.
const processes = 20

// longest is the longest that a page took to map in any of the programs, since it was last asked.
func (c *container) longest() (worst float64, err error) {
	for _, p := range c.programs {
		if _, err := p.in.Write([]byte("\n")); err != nil {
			return 0, err
		}
		line, err := p.out.ReadString('\n')
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return 0, err
		}
		worst = max(worst, float64(n)/1e9)
	}
	return worst, nil
}

// used is the CPU time of this process.
func used() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cost measures readings of a container whose processes have so many bytes together.
func cost(ctx context.Context, bytes uint64) (err error) {
	p, err := cgroup.Open(procmem.FS{}, cgroup.Limits{Memory: new(bytes + bytes/2)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	c, err := begin(ctx, p, processes, []string{"-target", "0", "-dir", fmt.Sprintf("size=%d", bytes/processes)}, nil)
	if err == nil {
		err = c.tell("done")
	}
	if err != nil {
		return err
	}
	time.Sleep(settles)
	g, err := charge.At(c.group.MemoryDir())
	if err != nil {
		return err
	}
	sys := inspect.New()
	tb := table.New(os.Stdout, "what", "time", "CPU time", "longest delay of a program, median", "worst")
	measure := func(what string, times int, do func() error) error {
		var took, cpu, delay []float64
		for range times {
			if _, err := c.longest(); err != nil {
				return err
			}
			begin, before := time.Now(), used()
			if err := do(); err != nil {
				return err
			}
			took, cpu = append(took, time.Since(begin).Seconds()), append(cpu, (used()-before).Seconds())
			worst, err := c.longest()
			if err != nil {
				return err
			}
			delay = append(delay, worst)
		}
		worst := 0.0
		for _, d := range delay {
			worst = max(worst, d)
		}
		tb.Row(what, unit.Seconds(stat.Summarize(took).Median), unit.Seconds(stat.Summarize(cpu).Median), unit.Seconds(stat.Summarize(delay).Median), unit.Seconds(worst))
		return nil
	}
	var last *charge.Charge
	read := func() (err error) { last, err = charge.New(sys, g).Read(); return err }
	for _, m := range []struct {
		what  string
		times int
		do    func() error
	}{
		{"nothing, for a second", 5, func() error { time.Sleep(time.Second); return nil }},
		{"the first reading", 1, read},
		{"a reading", 7, read},
		{"what the kernel counts alone", 7, func() error { _, err := charge.New(sys, g).Quick(); return err }},
		{"what doctor reads", 7, func() error { _, err := charge.Whole(sys.FS, g).Read(); return err }},
		{"folio inspect of each process, one after the other", 3, func() error {
			for _, p := range c.programs {
				if _, err := sys.Process(p.cmd.Process.Pid, inspect.Options{Waterfall: true, Sites: true, Bloat: true}); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		if err := measure(m.what, m.times, m.do); err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
	}
	fmt.Printf("\n%s charged to %d processes; the parts are off by %s\n", unit.Size(last.Usage), len(last.Processes), unit.Percent(off(last)))
	return c.end()
}
