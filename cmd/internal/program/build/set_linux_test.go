package build

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestWhyNot: what is not the program's fault is said in Folio's words, and how to fix it.
func TestWhyNot(t *testing.T) {
	failed := errors.New("the go command could not build it (exit code 1)")
	for _, tt := range []struct {
		said  string
		err   error
		want  string
		known bool
	}{
		{"# example.com/p\n./main.go:3:8: undefined: x\n", failed, "./main.go:3:8: undefined: x", false},
		{"", failed, failed.Error(), false},
		{"# runtime/cgo\ncgo: C compiler \"gcc\" not found: exec: \"gcc\": executable file not found in $PATH\n", failed,
			"it uses cgo, and the C compiler is not there: install one (gcc), or set CGO_ENABLED=0", true},
		{"# net/http\ncompile: writing output: write $WORK/b001/_pkg_.a: no space left on device\n", failed, fullDisk, true},
		{"", &os.PathError{Op: "mkdir", Path: "/x", Err: syscall.ENOSPC}, fullDisk, true},
		{"go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)\n", failed, "go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local): install that Go, or have the go command download it (GOTOOLCHAIN=auto)", true},
		{strings.Repeat("x", 300), failed, strings.Repeat("x", 200) + "...", false},
	} {
		if got, known := whyNot(tt.said, tt.err); got != tt.want || known != tt.known {
			t.Errorf("%q, %v: %q, %v", tt.said, tt.err, got, known)
		}
	}
}
