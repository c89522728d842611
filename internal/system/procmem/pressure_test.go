package procmem

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestParsePressure(t *testing.T) {
	p, err := parsePressure([]byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=83325\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=81789\n"))
	if want := (Pressure{83325 * time.Microsecond, 81789 * time.Microsecond}); p != want || err != nil {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{"", "full total=1\n", "some avg10=0.00\n", "some total=-1\n", "some total=99999999999999999\n"} {
		if p, err := parsePressure([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestMemoryPressureIsTheCgroups(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want time.Duration, wantOK bool) {
		t.Helper()
		if p, ok, err := New(root).MemoryPressure(0); p.Some != want || ok != wantOK || err != nil {
			t.Errorf("%v, %v, %v, want %v, %v", p.Some, ok, err, want, wantOK)
		}
	}
	check(0, false)
	write("proc/pressure/memory", "some total=1\n")
	check(time.Microsecond, true)
	write("proc/self/cgroup", "0::/box\n")
	write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	check(time.Microsecond, true)
	write("sys/fs/cgroup/box/memory.pressure", "some total=2\n")
	check(2*time.Microsecond, true)
	write("proc/self/cgroup", "0::/a b.service/main\n")
	write("sys/fs/cgroup/a b.service/main/memory.pressure", "some total=3\n")
	check(3*time.Microsecond, true)
	source := New(root).PressureSource(0)
	write("sys/fs/cgroup/a b.service/main/memory.pressure", "some total=4\n")
	if p, ok, err := source.Read(); p.Some != 4*time.Microsecond || !ok || err != nil {
		t.Errorf("read again: %v, %v, %v", p.Some, ok, err)
	}
	write("proc/self/cgroup", "0::/box\n")
	write("sys/fs/cgroup/box/memory.pressure", "none\n")
	if _, _, err := New(root).MemoryPressure(0); err == nil {
		t.Error("no error for what makes no sense")
	}
	if p, ok, err := (PressureSource{}).Read(); p != (Pressure{}) || ok || err != nil {
		t.Errorf("the zero value: %v, %v, %v", p, ok, err)
	}
}

func FuzzPressure(f *testing.F) {
	f.Add([]byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=83325\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=81789\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parsePressure(data)
		if err != nil && p != (Pressure{}) || p.Some < 0 || p.Full < 0 {
			t.Errorf("%+v, %v", p, err)
		}
	})
}
