package procmem

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestSmapsRollup(t *testing.T) {
	for _, c := range []struct {
		fixture string
		pid     int
		want    string
	}{
		{"linux-5.10", 8024, "1433600 465920 118784 1433600 204800 0 0 0 0 0 2097152 0"},
		{"linux-6.1-arm64-64k", 31003, "1638400000 1628160000 absent absent 1612185600 absent 1610612736 0 0 absent absent absent"},
		{"linux-6.18", 4242, "1646592 465920 absent 1646592 118784 0 0 0 0 absent absent 0"},
	} {
		s, err := fixture(c.fixture).SmapsRollup(c.pid)
		got := strings.Join([]string{have(s.Rss), have(s.Pss), have(s.PssAnon), have(s.Referenced), have(s.Anonymous), have(s.LazyFree),
			have(s.AnonHugePages), have(s.ShmemPmdMapped), have(s.FilePmdMapped),
			have(s.SharedHugetlb), have(s.PrivateHugetlb), have(s.Swap)}, " ")
		if err != nil || got != c.want {
			t.Errorf("%s: SmapsRollup(%d) = %s, %v\nwant %s", c.fixture, c.pid, got, err, c.want)
		}
	}
	if _, err := fixture("minimal").SmapsRollup(77); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kernel without smaps_rollup: error = %v, want not exist", err)
	}
	if _, err := parseSmapsRollup([]byte("5616c0735000-7fffa64da000 ---p 00000000 00:00 0\n")); !errors.Is(err, errEmpty) {
		t.Errorf("no fields: error = %v", err)
	}
}

func FuzzSmapsRollup(f *testing.F) {
	seed(f, "proc/[0-9]*/smaps_rollup")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseSmapsRollup(data)
		if (err != nil) != (s == SmapsRollup{}) {
			t.Errorf("error %v and values %+v", err, s)
		}
		if s.Rss != nil && *s.Rss%1024 != 0 {
			t.Errorf("Rss = %d, want whole KiB", *s.Rss)
		}
	})
}
