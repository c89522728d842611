package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/scratch"
	"github.com/foliomem/folio/internal/base/unit"
)

// inputNotice is how long standard input may take to be read without a word.
const inputNotice = time.Second

// takeInput makes every run read what folio's standard input has. What cannot be read
// twice, as a pipe, is read to its end here, into a file without a name. A terminal is
// not read.
func (s *session) takeInput(ctx context.Context, a *app) error {
	if a.stdin == nil || s.program.Input != "" || s.program.Server != nil {
		return nil
	}
	st, err := a.stdin.Stat()
	if err != nil || st.IsDir() || isTerminal(a.stdin) {
		return nil
	}
	s.program.Again = true
	if st.Mode()&os.ModeDevice != 0 {
		s.program.Stdin = a.stdin // /dev/null and its like
		return nil
	}
	if at, err := a.stdin.Seek(0, io.SeekCurrent); err == nil && at == 0 && st.Mode().IsRegular() {
		s.program.Stdin = a.stdin
	} else if s.program.Stdin, err = copyInput(ctx, a.stdin, a.stderr); err != nil {
		return err
	} else {
		s.spool = s.program.Stdin
	}
	if st, err := s.program.Stdin.Stat(); err == nil {
		n := uint64(st.Size())
		s.file.Program.Stdin = &n
	}
	return nil
}

// copyInput copies what is left of a stream. The file is gone when it is closed, or folio
// ends.
func copyInput(ctx context.Context, from *os.File, notice *console.Printer) (*os.File, error) {
	dir := os.TempDir()
	to, err := scratch.Unnamed(dir)
	if err != nil {
		return nil, fmt.Errorf("keep standard input for all runs: %w; use --input FILE, or set TMPDIR", err)
	}
	var n int64
	done := make(chan error, 1)
	go func() {
		for {
			m, err := io.CopyN(to, from, 16<<20)
			n += m
			if err == nil {
				err = roomLeft(to)
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	timer := time.NewTimer(inputNotice)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			_ = notice.Line("folio: reading standard input to its end, for all runs; if the program needs none, use </dev/null")
		case <-ctx.Done():
			return nil, errNothing // the copy ends with folio
		case err := <-done:
			if err == io.EOF {
				return to, nil
			}
			to.Close()
			return nil, fmt.Errorf("keep standard input for all runs in %s, after %s: %w; use --input FILE, or set TMPDIR", dir,
				unit.Size(n), withoutPath(err))
		}
	}
}

// withoutPath returns what failed of an operation on a file without a name.
func withoutPath(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
