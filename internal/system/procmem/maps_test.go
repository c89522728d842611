package procmem

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestParseMaps(t *testing.T) {
	got, err := parseMaps([]byte(`00400000-004ae000 r-xp 00001000 fe:00 9978675                            /tmp/a file\012name
260621800000-260628400000 rw-p 00000000 00:00 0 
c000000000-c000400000 rw-p 00000000 00:00 0                              [anon: Go: heap]
7f0000000000-7f0000001000 rw-s 00000000 00:01 2057                       /dev/zero (deleted)
7ffc15467000-7ffc15488000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`))
	want := []VMA{
		{Start: 0x400000, End: 0x4ae000, Read: true, Exec: true, Offset: 0x1000, Inode: 9978675, Dev: 0xfe << 32, Name: "/tmp/a file\nname"},
		{Start: 0x260621800000, End: 0x260628400000, Read: true, Write: true},
		{Start: 0xc000000000, End: 0xc000400000, Read: true, Write: true, Name: "[anon: Go: heap]"},
		{Start: 0x7f0000000000, End: 0x7f0000001000, Read: true, Write: true, Shared: true, Inode: 2057, Dev: 1, Name: "/dev/zero (deleted)"},
		{Start: 0x7ffc15467000, End: 0x7ffc15488000, Read: true, Write: true, Name: "[stack]"},
		{Start: 0xffffffffff600000, End: 0xffffffffff601000, Exec: true, Name: "[vsyscall]"},
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d: %+v, want %+v", i+1, got[i], want[i])
		}
		if anonymous := i == 1 || i == 2; got[i].Anonymous() != anonymous {
			t.Errorf("line %d: Anonymous() = %v", i+1, !anonymous)
		}
	}
	for _, bad := range []string{"x\n", "1-2 rw-p 0 0:0\n", "2-1 rw-p 0 0:0 0\n", "1-2 rw 0 0:0 0\n",
		"1-g rw-p 0 0:0 0\n", "1-2 rw-p 0 0 0\n", "12 rw-p 0 0:0 0\n"} {
		if v, err := parseMaps([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
			t.Errorf("%q: %+v, %v", bad, v, err)
		}
	}
	if v, err := parseMaps(nil); len(v) != 0 || err != nil { // a zombie
		t.Errorf("nothing: %v, %v", v, err)
	}
}

func TestMapsOfThisProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/maps"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no /proc on this system")
	}
	vmas, err := New("").Maps(0)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for i, v := range vmas {
		found = found || v.Name == exe && v.Exec && !v.Anonymous()
		if i > 0 && v.Start < vmas[i-1].End {
			t.Errorf("%+v overlaps its neighbor", v)
		}
	}
	if !found {
		t.Errorf("%s is not in %+v", exe, vmas)
	}
}

func FuzzMaps(f *testing.F) {
	f.Add([]byte("260621800000-260628400000 rw-p 00000000 00:00 0 \n"))
	f.Add([]byte("7ffc15467000-7ffc15488000 rw-p 00000000 00:00 0                          [stack]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		vmas, err := parseMaps(data)
		if err != nil && vmas != nil {
			t.Errorf("error %v and values %+v", err, vmas)
		}
		for _, v := range vmas {
			if v.Len() == 0 || v.End < v.Start {
				t.Errorf("%+v", v)
			}
		}
	})
}
