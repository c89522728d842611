package procmem

import (
	"strings"
	"testing"
)

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		fixture string
		pid     int
		want    string
	}{
		{"linux-5.10", 8024, "8024 8024 8020 1000 1001 1646592 1433600 204800 1228800 0 0 2097152 false 7"},
		{"linux-5.10", 8030, "8030 8030 8024 1000 1000 absent absent absent absent absent absent absent absent 1"},
		{"linux-6.1-arm64-64k", 31003, "31003 31003 1 0 0 1677721600 1638400000 1612185600 absent absent absent absent true 12"},
		{"linux-6.18", 4242, "4242 4242 4200 0 0 1646592 1646592 118784 1527808 0 0 0 true 1"},
		{"minimal", 77, "absent 77 absent absent absent absent 4096 absent absent absent absent absent absent absent"},
	} {
		s, err := fixture(c.fixture).Status(c.pid)
		got := strings.Join([]string{have(s.TGID), have(s.PID), have(s.PPID), have(s.UID), have(s.EUID),
			have(s.VmHWM), have(s.VmRSS), have(s.RssAnon), have(s.RssFile), have(s.RssShmem),
			have(s.VmSwap), have(s.HugetlbPages), have(s.THPEnabled), have(s.Threads)}, " ")
		if err != nil || got != c.want {
			t.Errorf("%s: Status(%d) = %s, %v\nwant %s", c.fixture, c.pid, got, err, c.want)
		}
	}
}

func TestStatusErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                    "no known field",
		"Name:\tx\n":          "no known field",
		"VmRSS:\t5\n":         "VmRSS: no unit",
		"Pid:\tx\n":           "Pid: ",
		"Uid:\t1\n":           "Uid: want 2 numbers",
		"THP_enabled:\tyes\n": "THP_enabled: want 0 or 1",
	} {
		_, err := parseStatus([]byte(in))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("parseStatus(%q) = %v, want %s", in, err, want)
		}
	}
}

func FuzzStatus(f *testing.F) {
	seed(f, "proc/[0-9]*/status")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseStatus(data)
		if err != nil && s != (Status{}) {
			t.Errorf("values with error %v: %+v", err, s)
		}
	})
}
