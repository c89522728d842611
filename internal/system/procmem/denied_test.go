package procmem

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever has CAP_SYS_PTRACE is not told to get it.
func TestDenied(t *testing.T) {
	dir := t.TempDir()
	for pid, uid := range map[int]int{1: os.Getuid() + 1, 2: os.Getuid()} {
		path := filepath.Join(dir, "proc", fmt.Sprint(pid))
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "status"), fmt.Appendf(nil, "Name:\tx\nUid:\t%d\t0\t0\t0\n", uid), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const how = `CAP_SYS_PTRACE (sudo; or sudo setcap cap_sys_ptrace+ep "$(command -v folio)"; or docker run --cap-add SYS_PTRACE)`
	const needs = ": needs " + how
	const protected = "it is protected (setuid, with more capabilities than this process, or by kernel.yama.ptrace_scope)"
	for _, c := range []struct {
		pid      int
		mayTrace bool
		want     string
	}{
		{1, true, Refuses},
		{1, false, fmt.Sprintf("it belongs to user %[1]d, and folio runs as user %[2]d: needs user %[1]d or ", os.Getuid()+1, os.Getuid()) + how},
		{2, true, Refuses},
		{2, false, protected + needs},
		{3, false, protected + needs}, // nothing is known of it
	} {
		if got := New(dir).denied(c.pid, c.mayTrace, nil); got != c.want {
			t.Errorf("process %d, may trace %v: %q, want %q", c.pid, c.mayTrace, got, c.want)
		}
	}
	const both = `: needs CAP_SYS_PTRACE and CAP_SYS_NICE (sudo; or sudo setcap cap_sys_ptrace,cap_sys_nice+ep "$(command -v folio)"; or docker run --cap-add SYS_PTRACE --cap-add SYS_NICE)`
	if got := New(dir).denied(1, false, []string{"sys_nice"}); !strings.HasSuffix(got, both) {
		t.Errorf("%q, want %q", got, both)
	}
}
