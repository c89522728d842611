package procmem

import (
	"strconv"
	"strings"
	"testing"
)

func TestStatm(t *testing.T) {
	for _, c := range []struct {
		fixture string
		page    int
		pid     int
		want    Statm
	}{
		{"linux-5.10", 4096, 8024, Statm{Size: 765 * 4096, RSS: 350 * 4096, Shared: 300 * 4096}},
		{"linux-5.10", 4096, 8030, Statm{}},
		{"linux-6.1-arm64-64k", 65536, 31003, Statm{Size: 147456 * 65536, RSS: 25000 * 65536, Shared: 400 * 65536}},
		{"linux-6.18", 4096, 4242, Statm{Size: 765 * 4096, RSS: 402 * 4096, Shared: 373 * 4096}},
	} {
		got, err := fixture(c.fixture).WithPageSize(c.page).Statm(c.pid)
		if err != nil || got != c.want {
			t.Errorf("%s: Statm(%d) = %+v, %v, want %+v", c.fixture, c.pid, got, err, c.want)
		}
	}
}

func TestStatmErrors(t *testing.T) {
	for _, in := range []string{"", "1", "1 2", "1 2 x", "1 2 3x", "-1 2 3", "1 2 18446744073709551616", "1 2 4503599627370496"} {
		if got, err := parseStatm([]byte(in), 4096); err == nil {
			t.Errorf("parseStatm(%q) = %+v, want an error", in, got)
		}
	}
}

func FuzzStatm(f *testing.F) {
	seed(f, "proc/[0-9]*/statm")
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseStatm(data, 1)
		if err != nil {
			return
		}
		for i, have := range []uint64{got.Size, got.RSS, got.Shared} {
			want, err := strconv.ParseUint(strings.Fields(string(data))[i], 10, 64)
			if err != nil || have != want {
				t.Errorf("number %d of %q = %d, want %d, %v", i, data, have, want, err)
			}
		}
	})
}
