package page

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
)

const smapsSample = `00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon
Size:                328 kB
Rss:                 328 kB
AnonHugePages:         0 kB
VmFlags: rd ex mr mw me
84000000-88000000 rw-p 00000000 00:00 0    [anon: Go: heap]
Size:              65536 kB
Rss:               10240 kB
AnonHugePages:      8192 kB
ShmemPmdMapped:        0 kB
FilePmdMapped:         0 kB
Private_Hugetlb:       0 kB
VmFlags: rd wr mr mw me ac hg
88000000-88400000 rw-p 00000000 00:0f 4077     /anon_hugepage (deleted)
AnonHugePages:         0 kB
VmFlags: rd wr mr mw me de ht
`

func TestParseSmaps(t *testing.T) {
	all := Range{0, ^uintptr(0)}
	heap := area{Range: Range{0x84000000, 0x88000000}, anonymous: true, huge: 8 << 20}
	pool := area{Range: Range{0x88000000, 0x88400000}, hugetlb: true}
	for _, c := range []struct {
		r    Range
		want []area
	}{
		{all, []area{{Range: Range{0x400000, 0x452000}}, heap, pool}},
		{Range{0x84000000, 0x84000001}, []area{heap}},
		{Range{0x87ffffff, 0x88000001}, []area{heap, pool}},
		{Range{0x500000, 0x84000000}, nil},
	} {
		got, err := parseSmaps([]byte(smapsSample), c.r)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("in %v: %+v, %v; want %+v", c.r, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "nonsense", "VmFlags: ht\n", strings.Replace(smapsSample, "8192 kB", "8192 MB", 1),
		strings.Replace(smapsSample, "8192 kB", "99999999999999999999 kB", 1)} {
		if got, err := parseSmaps([]byte(bad), all); err == nil {
			t.Errorf("%.40q: %+v, no error", bad, got)
		}
	}
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	areas, err := parseSmaps(data, all)
	if err != nil || len(areas) != bytes.Count(data, []byte("\nVmFlags:")) {
		t.Errorf("%d areas of this process, %v", len(areas), err)
	}
}

func FuzzParseSmaps(f *testing.F) {
	f.Add([]byte(smapsSample), uint64(0), uint64(1<<47))
	f.Add([]byte("1-2 rw-p 0 0 0\nAnonHugePages: 1 kB\n"), uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, start, end uint64) {
		r := Range{uintptr(start), uintptr(end)}
		areas, err := parseSmaps(data, r)
		if err != nil && areas != nil {
			t.Error("areas and an error")
		}
		for _, a := range areas {
			if a.Len() == 0 || a.Start >= r.End || a.End <= r.Start {
				t.Errorf("%v is not in %v", a.Range, r)
			}
		}
	})
}

func FuzzAllZero(f *testing.F) {
	f.Add([]byte{0, 0, 0})
	f.Add(append(make([]byte, 100), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := allZero(b), bytes.Count(b, []byte{0}) == len(b); got != want {
			t.Errorf("allZero(%v) = %v", b, got)
		}
	})
}
