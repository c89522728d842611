package symbol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
)

// The kernel takes a tenth of a second to print its symbols, as long as many a
// program runs. They change only when it boots (and modules, whose new functions
// are then without names), so they are kept in a file.

const (
	cachePrefix = "kernel-symbols-"
	cacheMagic  = "folio kernel symbols 1\n"
)

var errNoCache = errors.New("no usable cache")

// CachedKernel is [Kernel] with the table kept in the user's cache. The file says where
// the kernel is in memory, which is a secret: only its owner may read it. The note says
// why the cache is not used, "" if it is.
func CachedKernel() (k *KernelTable, note string, err error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		k, err = Kernel()
		return k, "", err
	}
	dir, err := scratch.Cache("")
	if err != nil {
		var unsafe *scratch.UnsafeError
		if errors.As(err, &unsafe) {
			note = "the names of the kernel's functions are not kept: " + err.Error()
		}
		k, err = Kernel()
		return k, note, err
	}
	path := filepath.Join(dir, cachePrefix+strings.TrimSpace(string(boot)))
	if k, err := readCache(path); err == nil {
		return k, "", nil
	}
	if k, err = Kernel(); err != nil {
		return nil, "", err
	}
	_ = k.writeCache(path) // the next time takes as long again
	return k, "", nil
}

// readCache reads a table. A file that another user could have written counts
// for nothing.
func readCache(path string) (*KernelTable, error) {
	f, info, err := scratch.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := mapFile(f, info.Size())
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

	old, _ := filepath.Glob(filepath.Join(filepath.Dir(path), cachePrefix+"*"))
	for _, name := range old {
		_ = os.Remove(name)
	}
	return scratch.WriteFile(path, data)
}
