package main

import (
	"bytes"
	"context"
	"os"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/cmd/internal/process/history"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/output"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/cmd/internal/view/screen"
	"github.com/foliomem/folio/cmd/internal/view/text"
)

// A watching reads one process again and again.
type watching struct {
	history.Watch
	a    *app
	f    *inspectFlags
	out  output.List
	show func(file *result.Inspect, first bool) error
}

// watchProcess reads a process until it ends, the duration has passed, or the user ends it.
func (a *app) watchProcess(ctx context.Context, f *inspectFlags, process *inspect.Watcher, out output.List) error {
	defer process.Close()
	w := &watching{a: a, f: f, out: out, Watch: history.Watch{Process: process, Every: f.watch, Duration: f.duration,
		Look: f.watch > 0 && (f.json != "" || f.html != "" || f.markdown != "")}}
	w.Show = w.add
	if w.Every == 0 {
		w.Every = max(f.duration/300, 100*time.Millisecond)
	}
	tty, watched := terminal.Of(a.stdout)
	var err error
	switch {
	case f.watch > 0 && out.ToStdout():
		w.show = w.line
		err = w.Run(ctx)
	case f.watch > 0 && watched && os.Getenv("TERM") != "dumb":
		err = w.onScreen(ctx, tty)
	case f.watch > 0:
		w.show = w.text
		err = w.Run(ctx)
	default:
		line := newProgress(a.stderr)
		w.show = func(file *result.Inspect, _ bool) error {
			line.Show(report.InspectProgress(file.Process, f.duration))
			return nil
		}
		err = w.Run(ctx)
		line.Clear()
	}
	if err == nil && f.duration > 0 {
		err = w.finish()
	}
	if err == nil && w.Over != "" {
		err = a.stderr.Line("process %d %s", w.Last.PID, w.Over)
	}
	return err
}

// add shows a reading.
func (w *watching) add(first bool) error {
	file, err := w.file(w.Recent())
	if err != nil {
		return err
	}
	if w.Look {
		if err := w.out.Write(false, file.JSON); err != nil {
			return err
		}
	}
	return w.show(file, first)
}

// file makes a result of the last reading and what was before.
func (w *watching) file(g *history.Growth) (*result.Inspect, error) {
	file := result.NewInspect(version())
	file.SetProcess(w.Last)
	file.SetHistory(&w.History, g)
	return shown(file, w.f.redact)
}

// line writes a reading to the standard output as JSON in a line: without those before it.
func (w *watching) line(file *result.Inspect, _ bool) error {
	alone, process := *file, *file.Process
	process.OverTime = nil
	alone.Process = &process
	line, err := alone.Line()
	if err == nil {
		_, err = w.a.stdout.Write(line)
	}
	return err
}

// text prints a reading in a line.
func (w *watching) text(file *result.Inspect, first bool) error {
	text := ""
	if first {
		text = report.InspectHead(file.Process)
	}
	_, err := w.a.stdout.Write([]byte(text + report.InspectLine(file.Process)))
	return err
}

// finish looks once more, writes the files, and prints how the memory grew.
func (w *watching) finish() error {
	if err := w.Finish(); err != nil {
		return err
	}
	file, err := w.file(w.All())
	if err != nil {
		return err
	}
	if err := w.out.Write(false, file.JSON); err != nil || w.out.ToStdout() {
		return err
	}
	var buf bytes.Buffer
	if err := show(&buf, file, text.Options{Width: w.f.width, Rows: w.f.rows, Full: w.f.full}); err != nil {
		return err
	}
	if w.f.watch > 0 {
		buf = *bytes.NewBufferString("\n" + buf.String())
	}
	_, err = w.a.stdout.Write(buf.Bytes())
	return err
}

// onScreen shows readings on the whole terminal.
func (w *watching) onScreen(ctx context.Context, tty *os.File) error {
	return screen.Run(ctx, tty, terminal.Is(os.Stdin), w.Every, func(ctx context.Context, show func(*result.Process)) error {
		w.show = func(file *result.Inspect, _ bool) error {
			show(file.Process)
			return nil
		}
		return w.Run(ctx)
	})
}
