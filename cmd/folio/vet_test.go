//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// goCache is the user's build cache: scripts that run the go command would
// otherwise compile the standard library each time.
func goCache() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// go vet calls its tool in three ways; nothing that a user types is one.
func TestOnlyFlags(t *testing.T) {
	for args, want := range map[string]bool{"": true, "-json -c=2": true, "run": false, "vet -json": false, "-x y": false} {
		if got := onlyFlags(strings.Fields(args)); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}
}
