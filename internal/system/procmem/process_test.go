package procmem

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestProcesses(t *testing.T) {
	fs := withFiles(t, "linux-6.18", map[string]string{
		"proc/7/cmdline":  "/usr/bin/a b\x00-x\x00\x00",
		"proc/9/cmdline":  "",
		"proc/sys/x":      "",
		"proc/007x/stat":  "",
		"proc/11/cmdline": "title of a process\x00\x00\x00\x00",
	})
	pids, err := fs.PIDs()
	if err != nil || !slices.Equal(pids, []int{7, 9, 11, 4242}) {
		t.Errorf("PIDs = %v, %v", pids, err)
	}
	for pid, want := range map[int]string{7: "/usr/bin/a b|-x", 9: "", 11: "title of a process"} {
		if got, err := fs.Cmdline(pid); strings.Join(got, "|") != want || err != nil {
			t.Errorf("Cmdline(%d) = %q, %v", pid, got, err)
		}
	}
	if got, err := fs.Cmdline(4242); !Gone(err) {
		t.Errorf("Cmdline of nobody: %q, %v", got, err)
	}
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		own, err := os.Stat(New("").ExePath(0))
		exe, err2 := os.Executable()
		file, err3 := os.Stat(exe)
		if err != nil || err2 != nil || err3 != nil || !os.SameFile(own, file) {
			t.Errorf("ExePath: %v, %v, %v", err, err2, err3)
		}
	}
	if pids, err := New(t.TempDir()).PIDs(); err == nil {
		t.Errorf("no /proc: %v", pids)
	}
}
