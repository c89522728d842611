package oom

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/internal/system/procmem"
)

// What is saved on request has the reason, and how much of its limit the container uses; of a
// process that has ended nothing is saved, and that is said.
func TestSaver(t *testing.T) {
	pid, root, save := sleeper(t), t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		fmt.Sprintf("proc/%d/cgroup", pid): "0::/job\n",
		"proc/self/mountinfo":              "30 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/job/cgroup.procs":   fmt.Sprintln(pid),
		"sys/fs/cgroup/job/memory.max":     "1000\n",
		"sys/fs/cgroup/job/memory.current": "900\n",
		"sys/fs/cgroup/job/memory.stat":    "anon 500\nfile 300\nshmem 0\nkernel 100\ninactive_file 200\nactive_file 100\n",
	} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	said := newSaver(t, pid, save)
	said.Charge = func(c *charge.Charge) ([]byte, error) { return json.Marshal(c) }
	s, err := NewSaver(pid, said.Options)
	if err != nil {
		t.Fatal(err)
	}
	s.o.fs = procmem.New(root)
	if err := s.Save(t.Context(), "the reason"); err != nil {
		t.Fatal(err)
	}
	if text := said.errs.String(); !strings.HasPrefix(text, "the reason: saved summary, ") {
		t.Errorf("%q", text)
	}
	files := contents(t, strings.TrimSpace(said.out.String()))
	if text := files["summary.txt"]; !strings.HasPrefix(text, "the reason\ntime: ") || !strings.Contains(text, "\nuse: 600 bytes; with file cache of 300: 900; limit: 1000\n") {
		t.Errorf("%q", text)
	}
	if files[fmt.Sprintf("%d.json", pid)] == "" || files[chargeName] == "" || len(s.o.opened) != 0 {
		t.Errorf("%q, %d open", files, len(s.o.opened))
	}
	s.o.pid = 1 << 30
	said.errs.Reset()
	if err := s.Save(t.Context(), "another"); err != nil || said.errs.String() != "another: not saved: inspect process 1073741824: no such process\n" {
		t.Errorf("%v, %q", err, said.errs.String())
	}
	if all, err := os.ReadDir(save); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	said.Save = filepath.Join(root, "proc", "self", "mountinfo")
	if _, err := NewSaver(pid, said.Options); err == nil || !strings.HasPrefix(err.Error(), "--save: ") {
		t.Errorf("error %v", err)
	}
}
