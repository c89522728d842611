package cgroups

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

var (
	one = strings.Repeat("0123456789abcdef", 4)
	two = strings.Repeat("fedcba9876543210", 4)
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVersion2(t *testing.T) {
	root := t.TempDir()
	pod := "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podx.slice/"
	write(t, root, map[string]string{
		"cgroup.controllers": "cpu memory\n",
		pod + "memory.max":   "1000\n", pod + "cpu.max": "150000 100000\n",
		pod + "cri-containerd-" + one + ".scope/memory.current": "500\n",
		pod + "cri-containerd-" + one + ".scope/memory.max":     "2000\n",
		pod + "cri-containerd-" + one + ".scope/cpu.max":        "max 100000\n",
		pod + "cri-containerd-" + one + ".scope/memory.stat":    "anon 100\nfile 300\nshmem 40\n",
		pod + "cri-containerd-" + one + ".scope/cpu.stat":       "usage_usec 2500000\nuser_usec 1\n",
		pod + "crio-conmon-" + two + ".scope/memory.current":    "7\n",
	})
	r := Open(root)
	if !r.Found() || Open(t.TempDir()).Found() {
		t.Errorf("cgroups: %v, and where there are none: %v", r.Found(), Open(t.TempDir()).Found())
	}
	d, ok := r.Find(one)
	if !ok {
		t.Fatal("not found")
	}
	u, ok := d.Read()
	if !ok || *u.Memory != 500 || *u.PageCache != 260 || *u.MemoryLimit != 1000 || *u.CPU != 2.5 || *u.CPULimit != 1.5 {
		t.Errorf("%+v, %v", u, ok)
	}
	meminfo := t.TempDir()
	write(t, meminfo, map[string]string{"proc/meminfo": "MemTotal: 1 kB\n"})
	if l, ok, err := d.Limit(procmem.New("")); err != nil || !ok || l.Bytes != 1000 || !strings.HasSuffix(l.Dir, "podx.slice") {
		t.Errorf("%+v, %v, %v", l, ok, err)
	}
	write(t, root, map[string]string{pod + "cri-containerd-" + one + ".scope/memory.max": "900\n"})
	if l, ok, err := d.Limit(procmem.New("")); err != nil || !ok || l.Bytes != 900 || *l.Memory.Fixed() != 140 {
		t.Errorf("after a resize: %+v, %v, %v", l, ok, err)
	}
	write(t, root, map[string]string{pod + "cri-containerd-" + one + ".scope/memory.max": "2000\n"})
	write(t, root, map[string]string{pod + "memory.max": "2000\n"})
	if l, ok, err := d.Limit(procmem.New(meminfo)); err != nil || ok {
		t.Errorf("more than the machine has: %+v, %v, %v", l, ok, err)
	}
	if _, _, err := (Dir{r, "/gone"}).Limit(procmem.New("")); err == nil {
		t.Error("a cgroup that is gone has a limit")
	}
	charged := make(map[string]uint64)
	for _, s := range u.Charged {
		charged[s.Name] = s.Bytes
	}
	if want := map[string]uint64{"anonymous": 100, "huge_pages_unsplit": 0, "shared": 40, "page_cache": 260, "kernel": 0, "unexplained": 100}; !maps.Equal(charged, want) {
		t.Errorf("charged for %v, want %v", charged, want)
	}
	if _, ok := r.Find(two); ok {
		t.Error("the monitor of a container passes for it")
	}
	// What comes later is found with the next walk; what is gone cannot be read.
	write(t, root, map[string]string{"kubepods/pody/" + two + "/memory.current": "9\n"})
	if _, ok := r.Find(two); ok {
		t.Error("walked again at once")
	}
	now := time.Now().Add(walkEvery)
	r.now = func() time.Time { return now }
	d2, ok := r.Find(two)
	if u, read := d2.Read(); !ok || !read || *u.Memory != 9 || u.MemoryLimit != nil || u.CPULimit != nil || u.CPU != nil || u.PageCache != nil || u.Charged != nil {
		t.Errorf("%+v, %v, %v", u, ok, read)
	}
	if err := os.RemoveAll(filepath.Join(root, pod)); err != nil {
		t.Fatal(err)
	}
	if u, ok := d.Read(); ok {
		t.Errorf("%+v of a cgroup that is gone", u)
	}
}

func TestVersion1(t *testing.T) {
	root := t.TempDir()
	dir := "kubepods/besteffort/podx/" + one
	write(t, root, map[string]string{
		"memory/" + dir + "/memory.usage_in_bytes": "500\n",
		"memory/" + dir + "/memory.limit_in_bytes": "9223372036854771712\n",
		"memory/" + dir + "/memory.stat":           "cache 1\ntotal_cache 300\ntotal_shmem 0\n",
		"cpu/" + dir + "/cpu.cfs_quota_us":         "-1\n", "cpu/" + dir + "/cpu.cfs_period_us": "100000\n",
		"cpu/kubepods/besteffort/podx/cpu.cfs_quota_us": "50000\n", "cpu/kubepods/besteffort/podx/cpu.cfs_period_us": "100000\n",
		"cpuacct/" + dir + "/cpuacct.usage": "1500000000\n",
	})
	d, ok := Open(root).Find(one)
	u, read := d.Read()
	if !ok || !read || *u.Memory != 500 || *u.PageCache != 300 || u.MemoryLimit != nil || *u.CPU != 1.5 || *u.CPULimit != 0.5 {
		t.Errorf("%+v, %v, %v", u, ok, read)
	}
}

func TestNothingThere(t *testing.T) {
	r := Open("/nonexistent")
	for _, id := range []string{one, "", "short"} {
		if _, ok := r.Find(id); ok {
			t.Errorf("found %q", id)
		}
	}
}
