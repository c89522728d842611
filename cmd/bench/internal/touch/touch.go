// Package touch touches memory before a measurement. The host of a virtual machine
// gives it memory as it is first touched, and takes back what was free for some
// seconds. Who touches that again waits up to ten times as long as for memory that
// is there, which has nothing to do with the arm that it happens to. What was
// touched a moment ago is mostly there.
package touch

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/foliomem/folio/internal/system/page"
)

// Command is the first argument of the process that touches memory: a program that
// uses this package begins with
//
//	if touch.Asked() {
//		exit(touch.Main())
//	}
const Command = "touch"

// Memory has a process of its own touch so many bytes: this one must stay smaller
// than the arms, or the kernel's peak of theirs would be its own.
func Memory(ctx context.Context, n uint64) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, self, Command, strconv.FormatUint(n, 10)).CombinedOutput(); err != nil {
		return fmt.Errorf("touch memory: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Asked says that this is that process.
func Asked() bool { return len(os.Args) == 3 && os.Args[1] == Command }

// Main touches the memory.
func Main() error {
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		return err
	}
	kind := page.THP // takes less time
	if page.Allowed(page.THP, 0) != nil {
		kind = page.Base
	}
	m, err := page.Map(n, &page.Options{Kind: kind, Commit: page.Touch})
	if err != nil {
		return err
	}
	return m.Close()
}
