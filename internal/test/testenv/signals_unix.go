//go:build unix

package testenv

import (
	"os"
	"os/signal"
	"syscall"
)

// Tests that nohup(1) or a script's & started are told to ignore these signals, and so
// would be the programs that they interrupt. While the signals are handled here, children
// begin with the default, and the tests themselves still do not mind them.
func init() {
	if !isTest() {
		return
	}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
