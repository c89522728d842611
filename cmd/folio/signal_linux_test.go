package main

import (
	"context"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal that comes just before folio stops listening is not lost: ctrl-C in the
// moment before the program starts ends folio.
func TestSignalBeforeStop(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 50 {
		ctx, stop := interruptible(context.Background())
		// To this thread: the handler has run when the call returns.
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		stop()
		if context.Cause(ctx) != errInterrupted {
			t.Fatal("a signal was lost")
		}
	}
	ctx, stop := interruptible(context.Background())
	stop()
	stop()
	if ctx.Err() == nil || context.Cause(ctx) == errInterrupted {
		t.Errorf("without a signal the context ends with %v", context.Cause(ctx))
	}
}
