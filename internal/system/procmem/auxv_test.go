package procmem

import (
	"encoding/binary"
	"errors"
	"testing"
)

// auxv64 is AT_PAGESZ 4096, AT_ENTRY 0x401000, AT_NULL.
func auxv64() (data []byte) {
	for _, w := range []uint64{6, 4096, 9, 0x401000, 0, 0} {
		data = binary.NativeEndian.AppendUint64(data, w)
	}
	return data
}

func TestEntry(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/7/auxv", string(auxv64()))
	if e, err := New(root).Entry(7, 8); e != 0x401000 || err != nil {
		t.Errorf("Entry = %#x, %v", e, err)
	}
	var small []byte
	for _, w := range []uint32{6, 4096, 9, 0x8000, 0, 0} {
		small = binary.NativeEndian.AppendUint32(small, w)
	}
	if e, err := parseEntry(small, 4); e != 0x8000 || err != nil {
		t.Errorf("32 bits: %#x, %v", e, err)
	}
	if _, err := parseEntry(nil, 8); !errors.Is(err, errEmpty) {
		t.Errorf("a kernel thread: %v", err)
	}
	if _, err := parseEntry(auxv64(), 2); err == nil {
		t.Error("words of 2 bytes are not an error")
	}
	if got, want := New(root).MemPath(7), New(root).procPath(7, "mem"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzEntry(f *testing.F) {
	f.Add(auxv64(), 8)
	f.Fuzz(func(t *testing.T, data []byte, word int) {
		if e, err := parseEntry(data, word); err != nil && e != 0 {
			t.Errorf("%#x with error %v", e, err)
		}
	})
}
