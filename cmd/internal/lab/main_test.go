package lab

import (
	"fmt"
	"os"
	"testing"

	"github.com/foliomem/folio/cmd/internal/lab/settings"
)

// The test binary is also the process of an arm, and the guard.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "arm":
		var t Task
		if t, err = ParseTask(os.Args[2:]); err == nil {
			err = Work(t, os.Stdout)
		}
	case len(os.Args) > 1 && os.Args[1] == "guard":
		err = settings.Main([]string{"guard"}, os.Args[2:], os.Stdin, os.Stdout)
	default:
		os.Setenv("GORACE", "atexit_sleep_ms=0") // of the processes that it starts
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(ExitCode(err))
	}
}
