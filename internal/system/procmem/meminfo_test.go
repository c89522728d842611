package procmem

import (
	"strings"
	"testing"
)

func TestMeminfo(t *testing.T) {
	for fixtureName, want := range map[string]string{
		"linux-5.10":          "16694710272 13151580160 2147479552 2146168832 427819008 64 60 2097152",
		"linux-6.1-arm64-64k": "67265953792 64677216256 0 0 1610612736 0 0 536870912",
		"linux-6.18":          "25276510208 24981471232 0 0 0 0 0 2097152",
		"minimal":             "521654272 absent 0 0 absent absent absent absent",
	} {
		m, err := fixture(fixtureName).Meminfo()
		got := strings.Join([]string{have(m.MemTotal), have(m.MemAvailable), have(m.SwapTotal), have(m.SwapFree),
			have(m.AnonHugePages), have(m.HugePagesTotal), have(m.HugePagesFree), have(m.HugePageSize)}, " ")
		if err != nil || got != want {
			t.Errorf("%s: Meminfo = %s, %v\nwant %s", fixtureName, got, err, want)
		}
	}
}

func TestMeminfoErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "no known field",
		"MemTotal: 5 kB\nHugePages_Free: x\n": "HugePages_Free: ",
		"MemTotal: 99999999999999999999 kB\n": "MemTotal: ",
	} {
		_, err := parseMeminfo([]byte(in))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("parseMeminfo(%q) = %v, want %s", in, err, want)
		}
	}
}

func FuzzMeminfo(f *testing.F) {
	seed(f, "proc/meminfo")
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMeminfo(data)
		if (err != nil) != (m == Meminfo{}) {
			t.Errorf("error %v and values %+v", err, m)
		}
	})
}
