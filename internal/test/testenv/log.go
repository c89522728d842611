package testenv

import (
	"context"
	"log/slog"
)

// Log hands the message of each record to the function.
type Log func(slog.Level, string)

// Logger returns a logger of it.
func (l Log) Logger() *slog.Logger { return slog.New(l) }

func (l Log) Enabled(context.Context, slog.Level) bool { return true }
func (l Log) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l Log) WithGroup(string) slog.Handler            { return l }

func (l Log) Handle(_ context.Context, r slog.Record) error {
	l(r.Level, r.Message)
	return nil
}
