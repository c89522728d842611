package perf

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

func TestParseMaps(t *testing.T) {
	got := parseMaps(7, strings.NewReader(`55d0c0a00000-55d0c0a02000 r--p 00000000 fe:01 1234                       /bin/true
55d0c0a02000-55d0c0b00000 r-xp 00002000 fe:01 1234                       /bin/a name with  spaces (deleted)
55d0c0c00000-55d0c0c01000 r-xp 00000000 00:00 0 
7ffd0000-7ffe0000 r-xp 00000000 00:00 0                  [vdso]
1000-2000 --xp 00000010 103:05 18446744073709551615 /new\012line
2000-1000 r-xp 00000000 00:00 0 /backwards
zz-1000 r-xp 00000000 00:00 0 /no/number
1000-2000 r-xp
`))
	want := []Mapping{
		{PID: 7, Addr: 0x55d0c0a02000, Len: 0xfe000, Offset: 0x2000, Path: "/bin/a name with  spaces (deleted)",
			Exec: true, Major: 0xfe, Minor: 1, Inode: 1234},
		{PID: 7, Addr: 0x55d0c0c00000, Len: 0x1000, Exec: true},
		{PID: 7, Addr: 0x7ffd0000, Len: 0x10000, Path: "[vdso]", Exec: true},
		{PID: 7, Addr: 0x1000, Len: 0x1000, Offset: 0x10, Path: "/new\nline", Exec: true, Major: 0x103, Minor: 5, Inode: 1<<64 - 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A process can have ten thousand mappings of one file of a long name.
func TestNameIsKeptOnce(t *testing.T) {
	line := "1000-2000 r-xp 00000000 00:00 5 /" + strings.Repeat("x", 4000) + "\n"
	got := parseMaps(7, strings.NewReader(strings.Repeat(line, 15000)))
	if len(got) != 15000 || unsafe.StringData(got[0].Path) != unsafe.StringData(got[14999].Path) {
		t.Errorf("%d mappings, and the name more than once", len(got))
	}
}

func FuzzMaps(f *testing.F) {
	f.Add([]byte("55d0c0a02000-55d0c0b00000 r-xp 00002000 fe:01 1234                       /bin/true\n"))
	f.Add([]byte("7ffd0000-7ffe0000 r-xp 00000000 00:00 0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range parseMaps(7, bytes.NewReader(b)) {
			if !m.Exec || m.PID != 7 || m.Len == 0 || m.Addr+m.Len < m.Addr {
				t.Errorf("%+v makes no sense", m)
			}
		}
	})
}
