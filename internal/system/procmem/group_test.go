package procmem

import "testing"

func TestGroupDir(t *testing.T) {
	for _, name := range []string{"cgroup-v1", "cgroup-v2"} {
		f := fixture(name)
		groups, err := f.MemoryGroups(0)
		if err != nil || len(groups) == 0 {
			t.Fatalf("%s: %v, %v", name, groups, err)
		}
		if dir := f.GroupDir(groups[0]); len(dir) < 14 || dir[:14] != "/sys/fs/cgroup" {
			t.Errorf("%s: %q", name, dir)
		}
	}
}
