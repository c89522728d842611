package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/output"
	"github.com/foliomem/folio/cmd/internal/view/text"
)

// sites says that what keeps memory is asked for, not what there is.
func (f *inspectFlags) sites() bool { return f.heap != "" || f.diff != "" || f.goroutines }

func (f *inspectFlags) checkSites(args []string) error {
	switch {
	case !f.sites():
		return nil
	case f.watch > 0 || f.duration > 0:
		return errors.New("--heap, --diff and --goroutines read once: for growth over time use folio leaks PID")
	case len(args) == 0 && f.diff != "":
		return fmt.Errorf("--diff %s: want a second heap profile, or the id of a process: folio inspect --diff %s PID", f.diff, f.diff)
	case len(args) == 0:
		return errors.New("want the id of a process: folio inspect --heap FILE PID")
	case len(args) > 1:
		return fmt.Errorf("one process at a time, not %d", len(args))
	}
	if _, err := pidOf("inspect", args[0]); err != nil && (f.diff == "" || f.heap != "" || f.goroutines) {
		return err
	}
	return output.Distinct(append(f.files(), f.heapOutput(), output.File{Flag: "--diff", Path: f.diff})...)
}

// heapOutput is the heap profile.
func (f *inspectFlags) heapOutput() output.File { return output.File{Flag: "--heap", Path: f.heap} }

func pidOf(command, arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s %s: want the id of a process, such as $(%s)", command, arg, result.ShellLine([]string{"pgrep", "-n", arg}))
	case n < 1:
		return 0, fmt.Errorf("%s %s: want the id of a process", command, arg)
	}
	return n, nil
}

// inspectSites shows what keeps the memory of a process: by its heap profile, against an
// earlier one, by its goroutines.
func (a *app) inspectSites(ctx context.Context, f *inspectFlags, arg string) (err error) {
	out, err := a.openOutputs(append(f.files(), f.heapOutput())...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	ctx, stop := interruptible(ctx)
	defer stop()
	ask := result.Asked{Heap: f.heap != "", Diff: f.diff, Goroutines: f.goroutines}
	if ask.PID, err = pidOf("inspect", arg); err != nil { // it was checked: a file
		ask.File = arg
	}
	file, heap, err := result.ReadSites(ctx, version(), ask)
	if ctx.Err() != nil {
		return errNothing
	}
	if heap != nil {
		err = errors.Join(err, out.Put("--heap", heap))
	}
	if err != nil {
		return err
	}
	return finish(a, out, file, f.resultFlags, io.Discard, text.Options{Rows: f.rows})
}
