package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// said runs folio, which fails, and returns what it says.
func said(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := exit(&stderr, run(context.Background(), args, nil, &stdout, &stderr)); code != exitFailure || stdout.Len() > 0 {
		t.Errorf("%q: code %d, %q", args, code, stdout.String())
	}
	return stderr.String()
}

// commandsOf are commands that look at a process, each with what it says that it was to do.
func commandsOf(pid string) [][]string {
	return [][]string{
		{"inspect", "inspect", pid},
		{"inspect", "inspect", "--duration", "1s", pid},
		{"inspect", "inspect", "--heap", "-", pid},
		{"inspect", "inspect", "--goroutines", pid},
		{"watch", "leaks", "--duration", "1s", pid},
		{"collapse", "collapse", "--dry-run", pid},
		{"set", "set", pid},
	}
}

// An error names what the command was to do, once.
func TestNoSuchProcess(t *testing.T) {
	for _, c := range commandsOf("999999999") {
		if got, want := said(t, c[1:]...), "folio: "+c[0]+" process 999999999: no such process\n"; got != want {
			t.Errorf("%q says %q, want %q", c, got, want)
		}
	}
}

// A thread of the kernel is there, but has no memory.
func TestKernelThread(t *testing.T) {
	if s, err := procmem.New("").Stat(2); err != nil || !s.Kernel {
		testenv.Missing(t, "process 2 is not a thread of the kernel here: %v", err)
	}
	for _, c := range commandsOf("2") {
		if got, want := said(t, c[1:]...), "folio: "+c[0]+" process 2: a thread of the kernel: it has no memory of its own\n"; got != want {
			t.Errorf("%q says %q, want %q", c, got, want)
		}
	}
}
