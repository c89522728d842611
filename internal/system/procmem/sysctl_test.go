package procmem

import "testing"

func TestSysctl(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/sys/vm/swappiness", "60\n")
	write(t, root, "proc/sys/kernel/perf_event_paranoid", "-1\n")
	write(t, root, "proc/sys/vm/drop_caches", "now\n")
	for name, want := range map[string]int64{"vm/swappiness": 60, "kernel/perf_event_paranoid": -1} {
		if n, err := New(root).Sysctl(name); n != want || err != nil {
			t.Errorf("Sysctl(%s) = %d, %v", name, n, err)
		}
	}
	for _, name := range []string{"vm/drop_caches", "vm/none"} {
		if _, err := New(root).Sysctl(name); err == nil {
			t.Errorf("Sysctl(%s): no error", name)
		}
	}
}

func FuzzSysctl(f *testing.F) {
	f.Add([]byte("60\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, err := parseSysctl(data); err != nil && n != 0 {
			t.Errorf("%d with error %v", n, err)
		}
	})
}
