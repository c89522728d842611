//go:build linux

package main

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// goCaches are the user's caches of the go command, for its environment: scripts that
// run it would otherwise compile the standard library, and download toolchains, each
// time.
var goCaches = sync.OnceValue(func() []string {
	var out []string
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		if value, err := exec.Command("go", "env", name).Output(); err == nil {
			out = append(out, name+"="+strings.TrimSpace(string(value)))
		}
	}
	return out
})

// go vet calls its tool in three ways; nothing that a user types is one.
func TestOnlyFlags(t *testing.T) {
	for args, want := range map[string]bool{"": true, "-json -c=2": true, "run": false, "vet -json": false, "-x y": false} {
		if got := onlyFlags(strings.Fields(args)); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}
}
