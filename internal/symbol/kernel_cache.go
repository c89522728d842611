package symbol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// The kernel takes a tenth of a second to print its symbols, as long as many a
// program runs. They change only when it boots (and modules, whose new functions
// are then without names), so they are kept in a file.

const (
	cachePrefix = "kernel-symbols-"
	cacheMagic  = "folio kernel symbols 1\n"
)

var errNoCache = errors.New("no usable cache")

// CachedKernel is [Kernel] with the table kept in a directory, which is made if
// it is not there. The file says where the kernel is in memory, which is a
// secret: only its owner may read it.
func CachedKernel(dir string) (*KernelTable, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Kernel()
	}
	path := filepath.Join(dir, cachePrefix+strings.TrimSpace(string(boot)))
	if k, err := readCache(path); err == nil {
		return k, nil
	}
	k, err := Kernel()
	if err != nil {
		return nil, err
	}
	_ = k.writeCache(path) // the next time takes as long again
	return k, nil
}

// readCache reads a table. A file that another user could have written counts
// for nothing.
func readCache(path string) (*KernelTable, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || !ownedByUs(info) {
		return nil, errNoCache
	}
	data, err := mapFile(path, info.Size())
	if err != nil {
		return nil, err
	}
	c, err := parseCache(data)
	if err != nil {
		return nil, err
	}
	return &KernelTable{cache: c}, nil
}

// cachedTable is a table in the form of the file, of which a few pages are looked
// at for each address.
type cachedTable struct {
	n                      int
	addresses, ends, names []byte
}

func parseCache(data []byte) (*cachedTable, error) {
	data, ok := bytes.CutPrefix(data, []byte(cacheMagic))
	if !ok || len(data) < 8 {
		return nil, errNoCache
	}
	n := binary.LittleEndian.Uint64(data)
	data = data[8:]
	if n == 0 || n > uint64(len(data))/12 {
		return nil, errNoCache
	}
	return &cachedTable{n: int(n), addresses: data[:8*n], ends: data[8*n : 12*n], names: data[12*n:]}, nil
}

func (c *cachedTable) address(i int) uint64 { return binary.LittleEndian.Uint64(c.addresses[8*i:]) }

// name returns "" for one that is not where it should be.
func (c *cachedTable) name(i int) string {
	from, end := uint32(0), binary.LittleEndian.Uint32(c.ends[4*i:])
	if i > 0 {
		from = binary.LittleEndian.Uint32(c.ends[4*(i-1):])
	}
	if from > end || uint64(end) > uint64(len(c.names)) {
		return ""
	}
	return string(c.names[from:end])
}

func (c *cachedTable) lookup(addr uint64) string {
	i := sort.Search(c.n, func(i int) bool { return c.address(i) > addr }) - 1
	if i < 0 || addr-c.address(i) > maxKernelFunction {
		return ""
	}
	return c.name(i)
}

// writeCache replaces the files of earlier boots.
func (k *KernelTable) writeCache(path string) error {
	data := binary.LittleEndian.AppendUint64([]byte(cacheMagic), uint64(len(k.list)))
	var ends, names []byte
	for _, s := range k.list {
		data = binary.LittleEndian.AppendUint64(data, s.address)
		names = append(names, s.name...)
		ends = binary.LittleEndian.AppendUint32(ends, uint32(len(names)))
	}
	data = append(append(data, ends...), names...)

	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".kernel-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	old, _ := filepath.Glob(filepath.Join(dir, cachePrefix+"*"))
	for _, name := range old {
		_ = os.Remove(name)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return nil
}
