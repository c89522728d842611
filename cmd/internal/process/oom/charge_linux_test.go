package oom

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/charge"
)

// plainGroup is a directory with the files of a cgroup of version 2.
func plainGroup(t *testing.T, pids ...int) string {
	t.Helper()
	dir := t.TempDir()
	var procs strings.Builder
	for _, pid := range pids {
		fmt.Fprintln(&procs, pid)
	}
	const mib = 1 << 20
	for name, text := range map[string]string{
		"cgroup.procs": procs.String(), "memory.current": fmt.Sprintln(1000 * mib), "memory.max": fmt.Sprintln(1 << 30),
		"memory.stat": fmt.Sprintf("anon %d\nfile %d\nshmem %d\nkernel %d\n", 600*mib, 300*mib, 300*mib, 100*mib),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A save has what the cgroup is charged for: in a line of the summary, and in parts that are
// divided by the waterfalls of the save.
func TestOOMSavesCharge(t *testing.T) {
	pid := sleeper(t)
	s := newSaver(t, pid, t.TempDir())
	s.Charge = func(c *charge.Charge) ([]byte, error) { return json.Marshal(c) }
	e := s.event()
	e.Group = plainGroup(t, pid, os.Getppid())
	if err := s.save(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(s.out.String())
	files := contents(t, dir)
	if want := "\ncharged: 1000.0MiB: anonymous memory 600.0MiB, tmpfs and shared memory 300.0MiB, kernel memory 100.0MiB\n"; !strings.Contains(files["summary.txt"], want) {
		t.Errorf("the summary is %q", files["summary.txt"])
	}
	var c charge.Charge
	if err := json.Unmarshal([]byte(files[chargeName]), &c); err != nil {
		t.Fatalf("%v: %q", err, files)
	}
	if c.Usage != 1000<<20 || c.Part(charge.SharedUnmapped).Bytes != 300<<20 || c.Part("go_since").Bytes+c.Part("go_live").Bytes == 0 || len(c.Processes) != 2 {
		t.Errorf("%+v", c)
	}
	for _, p := range c.Processes {
		if read := p.Waterfall != nil; read != (p.PID == pid) || !read && p.Why != errNotRead.Error() {
			t.Errorf("process %d: %q, %+v", p.PID, p.Why, p.Waterfall)
		}
	}
	if !strings.Contains(files[listName], "  "+chargeName+"  ") || !strings.Contains(s.errs.String(), ", charge in ") {
		t.Errorf("%q, %q", files[listName], s.errs.String())
	}
	// The machine has no charge.
	e.Group, e.At = "", s.event().At
	s.out.Reset()
	if err := s.save(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	files = contents(t, strings.TrimSpace(s.out.String()))
	if _, ok := files[chargeName]; ok || strings.Contains(files["summary.txt"], "charged:") {
		t.Errorf("%q", files)
	}
}
