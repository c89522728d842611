package procmem

import (
	"os"
	"strings"
	"testing"
)

const smapsText = `c000000000-c004000000 rw-p 00000000 00:00 0                              [anon: Go: heap]
Size:              65536 kB
Rss:               40960 kB
Anonymous:         40960 kB
AnonHugePages:     20480 kB
ShmemPmdMapped:        0 kB
FilePmdMapped:         0 kB
Shared_Hugetlb:        0 kB
Private_Hugetlb:       0 kB
Swap:                 12 kB
THPeligible:           1
VmFlags: rd wr mr mw me ac sd hg 
7f0000000000-7f0000400000 rw-s 00000000 00:0f 2057                       /anon_hugepage (deleted)
Rss:                   0 kB
Shared_Hugetlb:     2048 kB
Private_Hugetlb:    2048 kB
VmFlags: rd wr sh mr mw me ms de ht sd nh
`

func TestParseMappings(t *testing.T) {
	got, err := parseMappings([]byte(smapsText))
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []Mapping{
		{VMA: got[0].VMA, Rss: 40 << 20, Anonymous: 40 << 20, Huge: 20 << 20, Swap: 12 << 10, AdviseHuge: true},
		{VMA: got[1].VMA, Hugetlb: 4 << 20, AdviseNoHuge: true, IsHugetlb: true},
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	if got[0].Name != "[anon: Go: heap]" || got[1].Inode != 2057 {
		t.Errorf("%+v", got)
	}
	for bad, want := range map[string]string{
		"Rss: 1 kB\n":                                  "before the first",
		"1-2 rw-p 0 0:0 0\nRss: 1\n":                   "mapping 1: Rss: no unit",
		"1-2 rw-p 0 0:0 0\nRss: x kB\n":                "mapping 1: Rss: ",
		"1-2 rw-p 0 0:0 0\nSwap: 99999999999999999 kB": "out of range",
		"1-2 rw-p 0 0:0 0\nX\n":                        "want a field",
		"1-2 rw-p\n":                                   "mapping 1: ",
	} {
		if v, err := parseMappings([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %s", bad, v, err, want)
		}
	}
}

// TestOwnMappings holds the running kernel's smaps against its maps.
func TestOwnMappings(t *testing.T) {
	if _, err := os.Stat("/proc/self/smaps"); err != nil {
		t.Skip(err) // no Linux, or a kernel without it
	}
	got, err := New("").Mappings(0)
	if err != nil {
		t.Fatal(err)
	}
	rss := uint64(0)
	for _, m := range got {
		rss += m.Rss
		if m.Rss > m.Len() || m.Huge > m.Rss || m.Anonymous > m.Rss {
			t.Errorf("%+v", m)
		}
	}
	if rss == 0 {
		t.Error("nothing is resident")
	}
}

func FuzzMappings(f *testing.F) {
	f.Add([]byte(smapsText))
	f.Add([]byte("1-2 rw-p 0 0:0 0\nVmFlags: hg nh ht\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseMappings(data)
		if err != nil && all != nil {
			t.Errorf("error %v and %d mappings", err, len(all))
		}
		for _, m := range all {
			if m.End <= m.Start {
				t.Errorf("%+v", m)
			}
		}
	})
}
