package procmem

import (
	"reflect"
	"strings"
	"testing"
)

func TestMountinfo(t *testing.T) {
	const in = `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue
40 35 0:5 /a\040b\134 /c\011d\012 rw - tmpfs  rw
41 35 0:6 / /- ro - cgroup - rw,cpu,memory
`
	want := []mount{
		{root: "/mnt1", point: "/mnt2", fstype: "ext3", dev: 98 << 32, options: []string{"rw", "errors=continue"}},
		{root: `/a b\`, point: "/c\td\n", fstype: "tmpfs", dev: 5, options: []string{"rw"}},
		{root: "/", point: "/-", fstype: "cgroup", dev: 6, options: []string{"rw", "cpu", "memory"}},
	}
	got, err := parseMountinfo([]byte(in))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("parseMountinfo = %+v, %v\nwant %+v", got, err, want)
	}
	if !got[2].has("memory") || got[2].has("mem") {
		t.Error("has does not match whole words")
	}
}

func TestMountinfoErrors(t *testing.T) {
	for in, want := range map[string]string{
		"1 2 0:3 / /x": "line 1: want 6 or more fields",
		"1 2 0:3 / /x rw - a b c\n1 2 0:3 / /x rw ext4 dev rw": "line 2: no separator",
		"1 2 0:3 / /x rw - ext4 dev":                           "line 1: want 3 fields after -",
		"1 2 3 / /x rw - ext4 dev rw":                          "line 1: want major:minor",
	} {
		_, err := parseMountinfo([]byte(in))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("parseMountinfo(%q) = %v, want %s", in, err, want)
		}
	}
}

func FuzzMountinfo(f *testing.F) {
	seed(f, "proc/self/mountinfo")
	f.Fuzz(func(t *testing.T, data []byte) {
		mounts, err := parseMountinfo(data)
		if err == nil && len(mounts) > 1+strings.Count(string(data), "\n") {
			t.Errorf("%d mounts in %q", len(mounts), data)
		}
	})
}
