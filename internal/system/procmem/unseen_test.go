package procmem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The option counts of the mount that is seen at /proc: the last one.
func TestHidepid(t *testing.T) {
	const disk = "36 35 98:0 / / rw - ext4 /dev/vda rw,hidepid=2\n"
	proc := func(point, options string) string {
		return "63 45 0:39 / " + point + " rw - proc proc " + options + "\n"
	}
	for _, c := range []struct{ mounts, want string }{
		{"", ""},
		{disk + proc("/proc", "rw"), ""},
		{disk + proc("/proc", "rw,hidepid=2"), "hidepid=2"}, // before Linux 5.8
		{disk + proc("/proc", "rw,gid=27,hidepid=ptraceable"), "hidepid=ptraceable"},
		{proc("/proc", "rw,hidepid=invisible") + disk + proc("/proc/sys", "ro") + proc("/mnt/proc", "rw"), "hidepid=invisible"},
		{proc("/proc", "rw,hidepid=invisible") + proc("/proc", "rw"), ""},
		{proc("/proc", "rw") + proc("/proc", "rw,hidepid=noaccess"), "hidepid=noaccess"},
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "proc/self"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "proc/self/mountinfo"), []byte(c.mounts), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := New(dir).hidepid(); got != c.want {
			t.Errorf("%q: %q, want %q", c.mounts, got, c.want)
		}
	}
}

// Of processes that nothing hides the error stays what it is.
func TestUnseen(t *testing.T) {
	denied := fmt.Errorf("open x: %w", fs.ErrPermission)
	other := errors.New("other")
	for _, f := range []FS{New(""), New(t.TempDir())} {
		for _, c := range []struct{ err, want error }{
			{nil, nil}, {other, other}, {denied, denied}, {ErrKernelThread, ErrKernelThread}, {ErrEnding, ErrEnding},
			{fs.ErrNotExist, ErrNoProcess}, {syscall.ESRCH, ErrNoProcess}, {fmt.Errorf("x: %w", os.ErrProcessDone), ErrNoProcess},
		} {
			if got := f.Unseen(os.Getpid(), c.err); got != c.want {
				t.Errorf("%v: %v, want %v", c.err, got, c.want)
			}
		}
		if why, err := f.Unlisted(); f == (FS{}) && err != nil {
			t.Errorf("unlisted: %q, %v", why, err)
		}
	}
	if !errors.Is(ErrEnding, ErrNoProcess) {
		t.Error("a process that is ending is there")
	}
}
