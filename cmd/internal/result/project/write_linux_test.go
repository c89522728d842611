package project

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

const two = "-- go.mod --\nmodule x\n-- Dockerfile --\nFROM golang\nCMD [\"a\"]\n-- a.service --\n[Service]\nExecStart=/opt/none/a\n"

// refused has a write of two files fail, with an error that ends so, and nothing changed.
func refused(t *testing.T, dir, want string) {
	t.Helper()
	before := files(t, dir)
	said, err := applied(t, dir, Options{Setting: heap, Image: "i"}, "y")
	if err == nil || !strings.HasPrefix(err.Error(), dir) || !strings.HasSuffix(err.Error(), want+"; nothing is changed") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(said, "Change 2 files?") || strings.Contains(said, "Changed") {
		t.Errorf("%s", said)
	}
	if got := files(t, dir); got != before {
		t.Errorf("got\n%s\nwant\n%s", got, before)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.service.d")); err == nil {
		t.Error("a directory is left")
	}
}

func TestWriteDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		testenv.Missing(t, "mount a tiny file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	directory(t, dir, two)
	fill := filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, bytes.Repeat([]byte("x"), 1<<20), 0o644); err == nil {
		t.Fatal("the file system is not full")
	}
	refused(t, dir, "no space left on device")
	// Room for the first file, and not for the second.
	if err := os.Truncate(fill, 64<<10-5*4096); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "no space left on device")
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if said, err := applied(t, dir, Options{Setting: heap, Image: "i"}, "y"); err != nil || !strings.Contains(said, "\nChanged: ") {
		t.Errorf("%s, %v", said, err)
	}
}

func TestWriteDenied(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} { // TempDir keeps others out
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	directory(t, dir, two)
	file := filepath.Join(dir, "Dockerfile")
	if err := os.Chmod(file, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	testenv.AsNobody(t, func() { refused(t, dir, "permission denied") }) // the file may not be written
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	testenv.AsNobody(t, func() { refused(t, dir, "permission denied") }) // the directory may not
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o000); err != nil {
		t.Fatal(err)
	}
	testenv.AsNobody(t, func() {
		if _, err := Look(dir, Options{Setting: heap}); err == nil || !strings.HasSuffix(err.Error(), "Dockerfile: permission denied") {
			t.Errorf("%v", err)
		}
	})
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Root leaves a file to its owner.
func TestWriteKeepsOwner(t *testing.T) {
	testenv.Root(t, "to give a file to another user")
	dir := directory(t, t.TempDir(), two)
	file := filepath.Join(dir, "Dockerfile")
	if err := os.Chown(file, 65534, 65533); err != nil {
		t.Fatal(err)
	}
	must(t, dir, Options{Setting: heap, Image: "i"})
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil || st.Uid != 65534 || st.Gid != 65533 {
		t.Errorf("owner %d:%d, %v", st.Uid, st.Gid, err)
	}
}
