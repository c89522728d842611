package screen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// frames bounds how often the screen is drawn a second: it changes with readings and keys.
const frames = 10

// Run shows what read passes to show, a reading every so often, on the whole terminal, until
// read returns or the user ends it. Without keys, signals end it.
func Run(ctx context.Context, tty *os.File, keys bool, every time.Duration, read func(ctx context.Context, show func(*result.Process)) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := []tea.ProgramOption{tea.WithContext(ctx), tea.WithOutput(tty), tea.WithFPS(frames), tea.WithoutSignalHandler()}
	if !keys {
		options = append(options, tea.WithInput(nil))
	}
	p := tea.NewProgram(Model{Every: unit.Span(every)}, options...)
	done := make(chan error, 1)
	go func() {
		err := read(ctx, func(process *result.Process) { p.Send(Reading{Process: process}) })
		p.Quit()
		done <- err
	}()
	_, shown := p.Run()
	stopped := ctx.Err() != nil
	cancel()
	err := <-done
	if stopped || errors.Is(shown, context.Canceled) {
		shown = nil
	}
	if shown != nil {
		shown = fmt.Errorf("draw on the terminal: %w", shown)
	}
	return errors.Join(err, shown)
}
