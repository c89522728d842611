//go:build unix

package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestHold: several may use a cache, and nobody cleans it meanwhile.
func TestHold(t *testing.T) {
	dir := t.TempDir()
	a, err := Hold(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Hold(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(dir, true); !errors.Is(err, ErrHeld) {
		t.Errorf("taken alone while two use it: %v", err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	alone, err := Hold(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(dir, false); !errors.Is(err, ErrHeld) {
		t.Errorf("used while another cleans it: %v", err)
	}
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(filepath.Join(dir, "none"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that does not exist: %v", err)
	}
}

// TestClear: read-only modules go, and links are not followed.
func TestClear(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	deep := filepath.Join(dir, "golang.org", "x@v1", "bin")
	if err := errors.Join(os.MkdirAll(deep, 0o755), os.WriteFile(filepath.Join(deep, "go"), []byte("123"), 0o444),
		os.WriteFile(filepath.Join(other, "kept"), nil, 0o444), os.Symlink(other, filepath.Join(dir, "golang.org", "link")),
		os.Chmod(deep, 0o555), os.Chmod(filepath.Dir(deep), 0o555)); err != nil {
		t.Fatal(err)
	}
	hold, err := Hold(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	if n, err := Size(dir); n != 3 || err != nil {
		t.Errorf("%d bytes, %v, want 3", n, err)
	}
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != ".lock" {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(other, "kept")); err != nil {
		t.Error("a link was followed")
	}
	none := filepath.Join(dir, "none")
	if n, err := Size(none); n != 0 || err != nil {
		t.Errorf("a directory that does not exist: %d, %v", n, err)
	}
	if err := Clear(none); err != nil {
		t.Error(err)
	}
}
