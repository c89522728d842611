package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/process/history"
	"github.com/foliomem/folio/internal/process/inspect"
	"github.com/foliomem/folio/internal/process/waterfall"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/view/report"
	"github.com/foliomem/folio/internal/view/screen"
)

// A watching reads one process again and again.
type watching struct {
	a       *app
	f       *inspectFlags
	out     outputs
	process *inspect.Watcher
	history history.History
	every   time.Duration
	show    func(file *result.Inspect, first bool) error

	last *inspect.Process // nil: nothing was read
	over string           // what the process did that ends the readings
}

// watchProcess reads a process until it ends, the duration has passed, or the user ends it.
func (a *app) watchProcess(ctx context.Context, f *inspectFlags, process *inspect.Watcher, out outputs) error {
	defer process.Close()
	w := &watching{a: a, f: f, out: out, process: process, every: f.watch}
	if w.every == 0 {
		w.every = max(f.duration/300, 100*time.Millisecond)
	}
	tty, watched := terminal(a.stdout)
	var err error
	switch {
	case f.watch > 0 && out.toStdout():
		w.show = w.line
		err = w.run(ctx)
	case f.watch > 0 && watched && os.Getenv("TERM") != "dumb":
		err = w.onScreen(ctx, tty)
	case f.watch > 0:
		w.show = w.text
		err = w.run(ctx)
	default:
		line := newProgress(a.stderr)
		w.show = func(file *result.Inspect, _ bool) error {
			rss, _ := report.RSS(file.Process)
			line.Show(fmt.Sprintf("process %d: %s of %s, RSS %s", file.Process.PID,
				unit.ElapsedSeconds(seconds(file.Process)), unit.Span(f.duration), unit.Size(rss)))
			return nil
		}
		err = w.run(ctx)
		line.Clear()
	}
	if err == nil && f.duration > 0 {
		err = w.finish()
	}
	if err == nil && w.over != "" {
		err = a.stderr.Line("process %d %s", w.last.PID, w.over)
	}
	return err
}

// seconds is how long a process has been watched.
func seconds(p *result.Process) float64 {
	if n := len(p.OverTime.Seconds); n > 0 {
		return p.OverTime.Seconds[n-1]
	}
	return 0
}

// files reports whether the result is written at each reading.
func (w *watching) files() bool { return w.f.watch > 0 && (w.f.json != "" || w.f.html != "") }

// run reads until it is over.
func (w *watching) run(ctx context.Context) error {
	if w.f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.f.duration)
		defer cancel()
	}
	for {
		begin := time.Now()
		read := w.process.Read
		if w.files() {
			read = w.process.Look
		}
		p, err := read()
		switch {
		case err == nil:
			if err := w.add(p); err != nil {
				return err
			}
		case ctx.Err() != nil && w.last != nil:
			return nil
		case w.last != nil && w.gone(err):
			return nil
		case errors.Is(err, procmem.ErrMainThread) && w.last != nil:
			// Its threads end one after the other: nothing is to be seen until the last.
		default:
			return inspect.Failed(w.process.PID(), err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.every - time.Since(begin)):
		}
	}
}

// gone says of an error of reading whether the process ended, or is another program now:
// what was read until then stays.
func (w *watching) gone(err error) bool {
	switch {
	case errors.Is(err, waterfall.ErrExec):
		w.over = "began another program: readings end there"
	case errors.Is(err, procmem.ErrNoProcess):
		w.over = "has ended"
	default:
		return false
	}
	return true
}

// keep adds a reading to the history.
func (w *watching) keep(p *inspect.Process) {
	minor, major := w.process.Total()
	w.history.Add(p, minor, major)
	w.last = p
}

// add adds a reading, and shows it.
func (w *watching) add(p *inspect.Process) error {
	first := w.last == nil
	w.keep(p)
	file, err := w.file(w.history.Recent())
	if err != nil {
		return err
	}
	if w.files() {
		if err := w.out.write(false, file.JSON); err != nil {
			return err
		}
	}
	return w.show(file, first)
}

// file makes a result of the last reading and what was before.
func (w *watching) file(g *history.Growth) (*result.Inspect, error) {
	file := result.NewInspect(version())
	file.SetProcess(w.last)
	file.SetHistory(&w.history, g)
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
	if w.over == "" {
		if p, err := w.process.Look(); err == nil {
			w.keep(p)
		} else if !w.gone(err) && !errors.Is(err, procmem.ErrMainThread) {
			return inspect.Failed(w.process.PID(), err)
		}
	}
	if all := w.process.Since(); all != nil {
		w.last.Faults = all // not since the look before
	}
	file, err := w.file(w.history.All())
	if err != nil {
		return err
	}
	if err := w.out.write(false, file.JSON); err != nil || w.out.toStdout() {
		return err
	}
	var text bytes.Buffer
	if err := report.Inspect(&text, file, w.f.rows); err != nil {
		return err
	}
	if w.f.watch > 0 {
		text = *bytes.NewBufferString("\n" + text.String())
	}
	_, err = w.a.stdout.Write(text.Bytes())
	return err
}

// frames bounds how often the screen is drawn a second: it changes with readings and keys.
const frames = 10

// onScreen shows readings on the whole terminal.
func (w *watching) onScreen(ctx context.Context, tty *os.File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithOutput(tty), tea.WithFPS(frames), tea.WithoutSignalHandler()}
	if !isTerminal(os.Stdin) {
		options = append(options, tea.WithInput(nil)) // signals end it
	}
	p := tea.NewProgram(screen.Model{Every: unit.Span(w.every)}, options...)
	w.show = func(file *result.Inspect, _ bool) error {
		p.Send(screen.Reading{Process: file.Process})
		return nil
	}
	done := make(chan error, 1)
	go func() {
		err := w.run(ctx)
		p.Quit()
		done <- err
	}()
	_, shown := p.Run()
	stopped := ctx.Err() != nil
	cancel()
	read := <-done
	if stopped || errors.Is(shown, context.Canceled) {
		shown = nil
	}
	if shown != nil {
		shown = fmt.Errorf("draw on the terminal: %w", shown)
	}
	return errors.Join(read, shown)
}
