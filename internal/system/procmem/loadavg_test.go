package procmem

import "testing"

func TestLastPID(t *testing.T) {
	for name, want := range map[string]int{"linux-5.10": 8024, "linux-6.1-arm64-64k": 31003, "linux-6.18": 4242, "minimal": 77} {
		if got, err := load(fixture(name).path("proc/loadavg"), parseLoadavg); got != want || err != nil {
			t.Errorf("%s: last pid = %d, %v, want %d", name, got, err, want)
		}
	}
	for _, in := range []string{"", "1 2 3 4", "1 2 3 1/2 x", "1 2 3 1/2 -4", "1 2 3 1/2 4 5"} {
		if got, err := parseLoadavg([]byte(in)); err == nil {
			t.Errorf("parseLoadavg(%q) = %d, want an error", in, got)
		}
	}
}

func FuzzLoadavg(f *testing.F) {
	seed(f, "proc/loadavg")
	f.Fuzz(func(t *testing.T, data []byte) {
		if pid, err := parseLoadavg(data); err == nil && pid < 0 {
			t.Errorf("last pid = %d", pid)
		}
	})
}
