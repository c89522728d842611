package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/internal/process/inspect"
	"github.com/foliomem/folio/internal/program/callsite"
	"github.com/foliomem/folio/internal/program/goruntime"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/view/report"
)

// sites says that what keeps memory is asked for, not what there is.
func (f *inspectFlags) sites() bool { return f.heap != "" || f.diff != "" || f.goroutines }

func (f *inspectFlags) checkSites(args []string) error {
	switch {
	case !f.sites():
		return nil
	case f.watch > 0 || f.duration > 0:
		return errors.New("--heap, --diff and --goroutines read once: for growth over time use folio leaks PID")
	case f.html != "":
		return errors.New("--html: there is no page of --heap, --diff and --goroutines: go tool pprof -http : FILE shows the file of --heap")
	case len(args) == 0 && f.diff != "":
		return fmt.Errorf("--diff %s: want a second heap profile, or the id of a process: folio inspect --diff %s PID", f.diff, f.diff)
	case len(args) == 0:
		return errors.New("want the id of a process: folio inspect --heap FILE PID")
	case len(args) > 1:
		return fmt.Errorf("one process at a time, not %d", len(args))
	}
	if _, err := pidOf(args[0]); err != nil && (f.diff == "" || f.heap != "" || f.goroutines) {
		return err
	}
	return distinctOutputs(f.heapOutput(), asJSON(f.json), output{flag: "--diff", path: f.diff})
}

// heapOutput is the heap profile.
func (f *inspectFlags) heapOutput() output { return output{flag: "--heap", path: f.heap} }

func pidOf(arg string) (int, error) {
	if n, err := strconv.Atoi(arg); err == nil && n > 0 {
		return n, nil
	}
	return 0, fmt.Errorf("inspect %s: want the id of a process", arg)
}

// inspectSites shows what keeps the memory of a process: by its heap profile, against an
// earlier one, by its goroutines.
func (a *app) inspectSites(ctx context.Context, f *inspectFlags, arg string) (err error) {
	out, err := a.openOutputs(asJSON(f.json), f.heapOutput())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	ctx, stop := interruptible(ctx)
	defer stop()
	file, err := a.readSites(ctx, f, arg, out)
	if ctx.Err() != nil {
		return errNothing
	}
	if err != nil {
		return err
	}
	if file, err = shown(file, f.redact); err != nil {
		return err
	}
	if err := out.write(false, file.JSON); err != nil || out.toStdout() {
		return err
	}
	return report.Sites(a.stdout, file, f.rows)
}

func (a *app) readSites(ctx context.Context, f *inspectFlags, arg string, out outputs) (*result.Sites, error) {
	var before, after *profile.Profile
	var err error
	if f.diff != "" {
		if before, err = readHeapFile(f.diff); err != nil {
			return nil, err
		}
	}
	pid, err := pidOf(arg)
	if err != nil { // it was checked: a file
		if after, err = readHeapFile(arg); err != nil {
			return nil, err
		}
		file := result.NewSites(version(), result.KindSites, 0, nil, "")
		return file, compareHeaps(file, before, after)
	}
	s := inspect.New()
	target, err := attachSites(s, pid)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	command, _ := s.FS.Cmdline(pid)
	file := result.NewSites(version(), result.KindSites, pid, command, target.Version())
	if f.heap != "" || f.diff != "" {
		h, err := target.HeapProfile(ctx)
		if err != nil {
			return nil, fmt.Errorf("heap profile of process %d: %w", pid, err)
		}
		path, _ := os.Readlink(s.FS.ExePath(pid))
		if after, err = callsite.HeapProfile(h, callsite.Of(target), path, time.Now()); err != nil {
			return nil, err
		}
		file.Notes = append(file.Notes, after.Comments...)
	}
	if f.heap != "" {
		var b bytes.Buffer
		if err := callsite.Write(&b, after); err != nil {
			return nil, err
		}
		if err := out.put("--heap", b.Bytes()); err != nil {
			return nil, err
		}
	}
	switch {
	case before != nil:
		err = compareHeaps(file, before, after)
	case after != nil:
		d, derr := callsite.Compare(&profile.Profile{SampleType: after.SampleType, Period: after.Period}, after)
		if err = derr; err == nil {
			file.SetHeap(d, after.Period)
		}
	}
	if err == nil && f.goroutines {
		var g *callsite.Goroutines
		if g, err = callsite.ReadGoroutines(ctx, target); err == nil {
			file.SetGoroutines(g)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return file, nil
}

// attachSites prepares to read the runtime of a process.
func attachSites(s *inspect.System, pid int) (*goruntime.Target, error) {
	if err := s.Check(pid); err != nil {
		return nil, inspect.Failed(pid, err)
	}
	target, err := goruntime.Attach(s.FS, pid)
	switch {
	case errors.Is(err, goruntime.ErrGone):
		return nil, inspect.Failed(pid, procmem.ErrNoProcess)
	case procmem.Gone(err):
		return nil, inspect.Failed(pid, s.FS.Unseen(pid, err))
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("read the runtime of process %d: %s: %w", pid, s.FS.Denied(pid), err)
	case err != nil:
		return nil, fmt.Errorf("read the runtime of process %d: %w", pid, err)
	}
	return target, nil
}

func compareHeaps(file *result.Sites, before, after *profile.Profile) error {
	d, err := callsite.Compare(before, after)
	if err != nil {
		return fmt.Errorf("compare heap profiles: %w", err)
	}
	file.SetGrowth(d)
	return nil
}

func readHeapFile(path string) (p *profile.Profile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if p, err = callsite.Parse(file); err != nil {
		err = fmt.Errorf("%s: read profile: %w", path, err)
	}
	return p, err
}
