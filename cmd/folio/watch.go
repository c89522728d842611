package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/foliomem/folio/cmd/internal/process/history"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/cmd/internal/view/screen"
	"github.com/foliomem/folio/internal/base/unit"
)

// A watching reads one process again and again.
type watching struct {
	history.Watch
	a    *app
	f    *inspectFlags
	out  outputs
	show func(file *result.Inspect, first bool) error
}

// watchProcess reads a process until it ends, the duration has passed, or the user ends it.
func (a *app) watchProcess(ctx context.Context, f *inspectFlags, process *inspect.Watcher, out outputs) error {
	defer process.Close()
	w := &watching{a: a, f: f, out: out, Watch: history.Watch{Process: process, Every: f.watch, Duration: f.duration,
		Look: f.watch > 0 && (f.json != "" || f.html != "" || f.markdown != "")}}
	w.Show = w.add
	if w.Every == 0 {
		w.Every = max(f.duration/300, 100*time.Millisecond)
	}
	tty, watched := terminal(a.stdout)
	var err error
	switch {
	case f.watch > 0 && out.toStdout():
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
			rss, _ := report.RSS(file.Process)
			line.Show(fmt.Sprintf("process %d: %s of %s, RSS %s", file.Process.PID,
				unit.ElapsedSeconds(seconds(file.Process)), unit.Span(f.duration), unit.Size(rss)))
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

// seconds is how long a process has been watched.
func seconds(p *result.Process) float64 {
	if n := len(p.OverTime.Seconds); n > 0 {
		return p.OverTime.Seconds[n-1]
	}
	return 0
}

// add shows a reading.
func (w *watching) add(first bool) error {
	file, err := w.file(w.Recent())
	if err != nil {
		return err
	}
	if w.Look {
		if err := w.out.write(false, file.JSON); err != nil {
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
	p := tea.NewProgram(screen.Model{Every: unit.Span(w.Every)}, options...)
	w.show = func(file *result.Inspect, _ bool) error {
		p.Send(screen.Reading{Process: file.Process})
		return nil
	}
	done := make(chan error, 1)
	go func() {
		err := w.Run(ctx)
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
