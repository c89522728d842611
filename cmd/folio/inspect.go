package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/spelling"
	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/oom"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/output"
	"github.com/foliomem/folio/cmd/internal/view/text"
)

// defaultRows is how many processes a list shows.
const defaultRows = 20

type inspectFlags struct {
	watch    time.Duration
	duration time.Duration
	density  float64
	rows     int
	resultFlags
	oom    bool
	save   string
	cgroup string
	first  *result.Charge // of --cgroup --watch

	heap, diff string
	width      int // of the terminal
	goroutines bool
}

const inspectLong = `Show where the memory of a process is: RSS in parts; --full adds what is on huge pages. Without
a PID, rank processes by memory that huge pages could hold.

It only reads. Processes of other users need CAP_SYS_PTRACE, as do the parts of a Go heap
where kernel.yama.ptrace_scope requires it. See https://github.com/foliomem/folio/blob/main/docs/inspect.md

Exit codes: 0 shown, saved, or ended by ctrl-C; 1 failed; 2 wrong usage; 130 interrupted before
anything was read.`

func newInspect(a *app) *cobra.Command {
	f := &inspectFlags{}
	cmd := &cobra.Command{
		Use:   "inspect [flags] [pid]\n  folio inspect [flags] --cgroup cgroup|pid\n  folio inspect [flags] --oom cgroup|pid",
		Short: "Show the memory of running processes, and what huge pages would gain",
		Long:  inspectLong,
		Example: `  folio inspect
  folio inspect 1234
  folio inspect --watch 1234
  folio inspect --duration 10m --html inspect.html 1234
  folio inspect --heap heap.pprof 1234
  folio inspect --diff heap.pprof 1234
  folio inspect --goroutines 1234
  folio inspect --cgroup orders.service --html cgroup.html
  folio inspect --oom --save /var/tmp 1234 &`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.cgroup != "" && len(args) > 0:
				return misusef("inspect --cgroup: one cgroup at a time, and no process beside it: folio inspect --cgroup %s", f.cgroup)
			case f.cgroup != "":
				return nil
			case f.oom && len(args) == 0:
				return misusef("inspect --oom: no process or cgroup given: folio inspect --oom PID, or --oom CGROUP")
			case f.oom && len(args) > 1:
				return misusef("inspect --oom: one process or cgroup at a time, not %d: folio inspect --oom PID, or --oom CGROUP", len(args))
			case f.oom:
				return nil // it may be the directory of a cgroup
			case f.sites():
				return misuse(f.checkSites(args))
			}
			return onePID(false)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.inspect(cmd.Context(), f, args) },
	}
	fs := cmd.Flags()
	watchFlag(fs, &f.watch, "2s", "read again every `interval`, until ctrl-C (default 2s); on a terminal q quits, p pauses")
	fs.DurationVar(&f.duration, "duration", 0, "with a pid: read it for this `duration`, and show how its memory grew")
	usage.Positive(fs, "duration")
	fs.IntVar(&f.rows, "rows", defaultRows, "at most `n` processes, or with --heap, --diff and --goroutines lines; 0 for all")
	fs.Float64Var(&f.density, "min-density", inspect.MinDensity,
		"minimum `share` of a window in memory for the window to count as gain, 0.5 to 1; a window\nis the aligned range of one huge page")
	usage.Group(fs, "What is read")
	fs.StringVar(&f.heap, "heap", "", "with a pid: write the heap profile to `file`, for go tool pprof, and list the lines that\nkeep the most memory (- for standard output)")
	fs.StringVar(&f.diff, "diff", "", "compare the heap profile of the pid, or of a second file, with that in `file`:\nlines that have grown")
	fs.BoolVar(&f.goroutines, "goroutines", false, "with a pid: list its goroutines by state, stack and go statement")
	usage.Group(fs, "Lines of the program")
	fs.StringVar(&f.cgroup, "cgroup", "", "show what a `cgroup` is charged for and what is reclaimable, by its directory, its name or\nthe id of a process in it")
	fs.BoolVar(&f.oom, "oom", false, "wait until the memory of the process or cgroup is nearly used up, and save where it is\nbefore the OOM kill; ends with the process, or by ctrl-C")
	fs.StringVar(&f.save, "save", ".", "with --oom: save into a new directory in this `directory`")
	usage.Group(fs, "Containers and OOM kills")
	f.add(fs, "what was read (with --watch, a line per reading)")
	usage.Group(fs, "Output")
	return cmd
}

// watchFlag adds a --watch that needs no value.
func watchFlag(fs *pflag.FlagSet, v *time.Duration, interval, text string) {
	fs.DurationVar(v, "watch", 0, text)
	w := fs.Lookup("watch")
	w.NoOptDefVal, w.DefValue = interval, ""
	usage.Positive(fs, "watch")
}

// onePID checks that there is one argument, or none if it may be absent, and that it
// is the id of a process.
func onePID(needed bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 && needed:
			return misusef("%s: no process given: folio %s PID", cmd.Name(), cmd.Name())
		case len(args) > 1:
			interval := ""
			if cmd.Flags().Lookup("watch") != nil {
				interval = " (an interval goes with =: --watch=5s)"
			}
			return misusef("%s: one process at a time, not %d: folio %s PID%s", cmd.Name(), len(args), cmd.Name(), interval)
		case len(args) == 1:
			_, err := pidOf(cmd.Name(), args[0])
			for _, c := range cmd.Commands() {
				if err != nil && spelling.Like(args[0], c.Name()) {
					return misusef("%s %s: did you mean %s?", cmd.Name(), args[0], c.CommandPath())
				}
			}
			return misuse(err)
		}
		return nil
	}
}

func (f *inspectFlags) check() error {
	switch {
	case !(f.density >= inspect.LeastDensity && f.density <= 1):
		return fmt.Errorf("--min-density %v: must be from %v to 1", f.density, inspect.LeastDensity)
	case f.cgroup != "" && (f.oom || f.duration > 0 || f.sites()):
		return errors.New("--cgroup goes with --watch, --rows and files only; to save what a cgroup has before it is killed: folio inspect --oom CGROUP")
	case f.oom && (f.watch > 0 || f.duration > 0 || f.json != "" || f.html != "" || f.markdown != "" || f.sites()):
		return errors.New("--oom goes with --save only: it saves JSON files in the directory of --save; folio report makes pages of them")
	case f.save != "." && !f.oom:
		return errors.New("--save: is for --oom")
	case f.rows < 0:
		return fmt.Errorf("--rows %d: must not be negative", f.rows)
	case f.watch > 0 && (f.html == "-" || f.markdown == "-"):
		return errors.New("--html - and --markdown - with --watch: one page can go to standard output, not one for each look: name a file, which is replaced at each")
	}
	return nil
}

func (a *app) inspect(ctx context.Context, f *inspectFlags, args []string) (err error) {
	if err := f.check(); err != nil {
		return misuse(err)
	}
	if f.oom {
		return a.inspectOOM(ctx, f, args[0])
	}
	if f.sites() {
		return a.inspectSites(ctx, f, args[0])
	}
	pid := 0
	if len(args) > 0 {
		pid, _ = strconv.Atoi(args[0]) // it was checked
	} else if f.duration > 0 {
		return misusef("--duration %v: want the id of a process: folio inspect --duration %v PID", f.duration, f.duration)
	}
	files := f.files()
	if f.watch > 0 && f.json == "-" {
		files[0].Text = nil // lines are written, one for each reading
	}
	out, err := a.openOutputs(files...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	ctx, stop := interruptible(ctx)
	defer stop()
	f.width = terminal.Columns(a.stdout)
	s := inspect.New()
	if pid != 0 && (f.watch > 0 || f.duration > 0) {
		return a.watchProcess(ctx, f, s.Watch(pid, inspect.Options{MinDensity: f.density, Bloat: true}), out)
	}
	for first := true; ; first = false {
		begin := time.Now()
		var buf bytes.Buffer
		file, err := f.look(ctx, s, pid, &buf)
		switch {
		case ctx.Err() != nil && f.watch > 0:
			return nil // that is how it ends
		case ctx.Err() != nil:
			return errors.Join(errNothing)
		case err != nil:
			return err
		default:
			if err := a.showLook(out, file, buf.Bytes(), f.watch > 0, first); err != nil || f.watch == 0 {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.watch - time.Since(begin)):
		}
	}
}

// A looked is what a look saw.
type looked interface {
	result.Kind
	Line() ([]byte, error)
}

// look looks once, and prints it.
func (f *inspectFlags) look(ctx context.Context, s *inspect.System, pid int, w io.Writer) (looked, error) {
	file := result.NewInspect(version())
	switch {
	case f.cgroup != "":
		c, err := charge.ReadNamed(s, f.cgroup)
		if err != nil {
			return nil, fmt.Errorf("inspect --cgroup %s: %w", f.cgroup, err)
		}
		file := result.NewCharge(version(), c)
		if f.watch > 0 {
			f.first = cmp.Or(f.first, file)
			file.Since(f.first)
		}
		return showLooked(f, w, file)
	case pid == 0:
		l, err := s.List(ctx, f.density)
		if err != nil {
			return nil, fmt.Errorf("inspect all processes: %w", err)
		}
		if len(l.Rows) == 0 && l.Hidden != "" && f.watch == 0 {
			return nil, fmt.Errorf("inspect all processes: %s", l.Hidden)
		}
		file.SetList(l)
	default:
		p, err := s.Process(pid, inspect.Options{MinDensity: f.density, FaultTime: inspect.FaultTime, Waterfall: true, Sites: true, Bloat: true})
		if err != nil {
			return nil, inspect.Failed(pid, err)
		}
		if p.Denied != "" {
			return nil, inspect.Failed(pid, errors.New(p.Denied))
		}
		file.SetProcess(p)
	}
	return showLooked(f, w, file)
}

// inspectOOM saves what is in memory before memory ends.
func (a *app) inspectOOM(ctx context.Context, f *inspectFlags, target string) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	return oom.Run(ctx, target, a.evidence(f.save, f.redact))
}

// evidence says how what is in memory is saved.
func (a *app) evidence(dir string, redact bool) oom.Options {
	return oom.Options{
		Save: dir, Redact: redact, Stdout: a.stdout, Stderr: a.stderr,
		JSON: func(p *inspect.Process) ([]byte, []string, error) {
			file := result.NewInspect(version())
			file.SetProcess(p)
			file, err := shown(file, redact)
			if err != nil {
				return nil, nil, err
			}
			data, err := file.JSON()
			return data, file.Process.Notes, err
		},
		Charge: func(c *charge.Charge) ([]byte, error) {
			file, err := shown(result.NewCharge(version(), c), redact)
			if err != nil {
				return nil, err
			}
			return file.JSON()
		},
	}
}

// showLooked prints a result as it is written.
func showLooked[F looked](f *inspectFlags, w io.Writer, file F) (looked, error) {
	file, err := shown(file, f.redact)
	if err != nil {
		return nil, err
	}
	return file, show(w, file, text.Options{Width: f.width, Rows: f.rows, Full: f.full})
}

// showLook shows one look: on a terminal in place of the last one.
func (a *app) showLook(out output.List, file looked, text []byte, again, first bool) error {
	if again && out.ToStdout() {
		line, err := file.Line()
		if err == nil {
			_, err = a.stdout.Write(line)
		}
		return errors.Join(err, out.Write(false, file.JSON))
	}
	if err := out.Write(false, file.JSON); err != nil || out.ToStdout() {
		return err
	}
	if again {
		if _, watched := terminal.Of(a.stdout); watched && os.Getenv("TERM") != "dumb" {
			if err := a.stdout.ClearScreen(); err != nil {
				return err
			}
		} else if !first {
			text = append([]byte("\n"), text...)
		}
	}
	_, err := a.stdout.Write(text)
	return err
}
