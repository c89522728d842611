//go:build linux && (amd64 || arm64)

package witness

import (
	"testing"
)

func play(role string, args []string) int { return 0 }

func TestTree(t *testing.T) {
	var s seen
	r := run(t, s.options(func(e *Exec) bool { return e.Program.IsGo() }), "/bin/sh", "-c", "/bin/true; /bin/false; go version; nosuch; exit 7")
	t.Log(r, s.execs, s.exits, s.errs)
}
