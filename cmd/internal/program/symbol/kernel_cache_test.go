package symbol

import (
	"os"
	"path/filepath"
	"testing"
)

func TestKernelCache(t *testing.T) {
	k := &KernelTable{list: []kernelSymbol{{address: 0xffff0000, name: "one"}, {address: 0xffff0010}, {address: 0xffff0020, name: "two"}}}
	dir := filepath.Join(t.TempDir(), "new")
	path := filepath.Join(dir, cachePrefix+"now")
	old := filepath.Join(dir, cachePrefix+"before")
	for _, p := range []string{old, path} {
		if err := k.writeCache(p); err != nil {
			t.Fatal(err)
		}
	}
	got, err := readCache(path)
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{
		0xfffeffff: "", 0xffff0000: "one", 0xffff000f: "one", 0xffff0010: "", 0xffff0021: "two", 0xffff0020 + maxKernelFunction + 1: "",
	} {
		if name := got.Lookup(addr); name != want || k.Lookup(addr) != want {
			t.Errorf("at %#x: got %q, and %q without the file; want %q", addr, name, k.Lookup(addr), want)
		}
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 1 || files[0].Name() != filepath.Base(path) {
		t.Errorf("the directory has %v, want only the last file", files)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: others may read where the kernel is", info.Mode())
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readCache(path); err == nil {
		t.Error("a file that anyone may write was believed")
	}
}

func FuzzKernelCache(f *testing.F) {
	k := &KernelTable{list: []kernelSymbol{{address: 0xffff0000, name: "one"}, {address: 0xffff0020, name: "two"}}}
	path := filepath.Join(f.TempDir(), cachePrefix+"x")
	if err := k.writeCache(path); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-4])
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := parseCache(data); err == nil {
			c.lookup(0xffff0021)
			c.lookup(0)
		}
	})
}
