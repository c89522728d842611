package procmem

import "testing"

func TestRelease(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/sys/kernel/osrelease", "5.15.0-91-generic\n")
	r, err := New(root).Release()
	if err != nil || r != (Release{"5.15.0-91-generic", 5, 15}) {
		t.Errorf("Release = %+v, %v", r, err)
	}
	for _, c := range []struct {
		major, minor int
		want         bool
	}{{5, 15, true}, {5, 8, true}, {4, 20, true}, {5, 16, false}, {6, 1, false}} {
		if got := r.AtLeast(c.major, c.minor); got != c.want {
			t.Errorf("AtLeast(%d, %d) = %t", c.major, c.minor, got)
		}
	}
	for _, in := range []string{"", "six", "6", "-6.1", "6.-1", "6."} {
		if r, err := parseRelease([]byte(in)); err == nil || r != (Release{}) {
			t.Errorf("%q: %+v, %v", in, r, err)
		}
	}
}

func FuzzRelease(f *testing.F) {
	f.Add([]byte("6.18.44-x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := parseRelease(data); err != nil && r != (Release{}) || r.Major < 0 || r.Minor < 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
