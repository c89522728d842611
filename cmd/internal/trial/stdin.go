package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/internal/base/unit"
)

// inputNotice is how long standard input may take to be read without a word.
const inputNotice = time.Second

// TakeInput makes every trial read what a file has, such as standard input. What cannot be
// read twice, as a pipe, is read to its end here, into a file without a name: copied is that,
// nil for none, and slow is called where it takes long.
func (p *Program) TakeInput(ctx context.Context, stdin *os.File, slow func()) (copied *os.File, err error) {
	st, err := stdin.Stat()
	if err != nil || st.IsDir() {
		return nil, nil
	}
	p.Again, p.Stdin = true, stdin
	if at, err := stdin.Seek(0, io.SeekCurrent); st.Mode()&os.ModeDevice != 0 || err == nil && at == 0 && st.Mode().IsRegular() {
		return nil, nil
	}
	p.Stdin, err = copyInput(ctx, stdin, slow)
	return p.Stdin, err
}

// copyInput copies what is left of a stream. The file is gone when it is closed, or folio
// ends.
func copyInput(ctx context.Context, from *os.File, slow func()) (*os.File, error) {
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
				err = scratch.RoomLeft(to)
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
			slow()
		case <-ctx.Done():
			return nil, ctx.Err() // the copy ends with folio
		case err := <-done:
			if err == io.EOF {
				return to, nil
			}
			to.Close()
			if pe, ok := errors.AsType[*os.PathError](err); ok {
				err = pe.Err // it has no name
			}
			return nil, fmt.Errorf("keep standard input for all runs in %s, after %s: %w; use --input FILE, or set TMPDIR", dir,
				unit.Size(n), err)
		}
	}
}
