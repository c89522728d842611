package main

import (
	"context"

	"github.com/foliomem/folio/cmd/internal/base/terminal"
)

// takeInput makes every run read what folio's standard input has. A terminal is not read.
func (m *measurement) takeInput(ctx context.Context, a *app) (err error) {
	p := m.program
	if a.stdin == nil || p.Input != "" || p.Server != nil || terminal.Is(a.stdin) {
		return nil
	}
	m.spool, err = p.TakeInput(ctx, a.stdin, func() {
		_ = a.stderr.Line("folio: reading standard input to its end, for all runs; if the program needs none, use </dev/null")
	})
	if err != nil {
		return orNothing(ctx, err)
	}
	if st, err := p.Stdin.Stat(); p.Stdin != nil && err == nil && st.Mode().IsRegular() {
		m.stdin = new(uint64(st.Size()))
	}
	return nil
}
