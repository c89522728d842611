package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/foliomem/folio/page"
)

// The host of a virtual machine gives it memory as it is first touched, and takes
// back what was free for some seconds. Who touches that again waits up to ten times
// as long as for memory that is there, which has nothing to do with the arm that
// it happens to. So some memory is touched before each trial, and again when
// the program has built what it has: what an arm takes is mostly there then.

const touchCommand = "touch"

// touch has a process of its own do it.
func (b *bench) touch(ctx context.Context, l workload) error {
	if l.memory == 0 || b.quick {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return command(ctx, self, touchCommand, strconv.FormatInt(l.memory, 10))
}

func touchMain(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	kind := page.THP // takes less time
	if page.Allowed(page.THP, 0) != nil {
		kind = page.Base
	}
	m, err := page.Map(n, &page.Options{Kind: kind, Commit: page.Touch})
	if err != nil {
		return fmt.Errorf("touch memory: %w", err)
	}
	return m.Close()
}
