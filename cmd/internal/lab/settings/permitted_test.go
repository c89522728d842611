package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestPermitted(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := (Change{Path: filepath.Join(dir, "group"), Dir: true}).Permitted(); err != nil {
		t.Error(err)
	}
	if os.Getuid() == 0 {
		t.Skip("root may write everything")
	}
	if err := (Change{Path: file}).Permitted(); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if err := (Change{Path: "/group", Dir: true}).Permitted(); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}
