package procmem

import (
	"strings"
	"testing"
)

const buddyText = `Node 0, zone      DMA      0      0      0      0      0      0      0      0      0      1      3
Node 0, zone    DMA32      9      6     10      5      7      7      5      4      5      6    440
Node 0, zone   Normal   1000    100     10      1      1      1      1      1      1      1      2
`

func TestFreeBlocks(t *testing.T) {
	root := t.TempDir()
	write(t, root, "proc/buddyinfo", buddyText)
	b, err := New(root).FreeBlocks()
	if err != nil || len(b) != 11 || b[0] != 1009 || b[10] != 445 {
		t.Fatalf("FreeBlocks = %v, %v", b, err)
	}
	if got, want := b.Pages(9), uint64(8*512+445*1024); got != want {
		t.Errorf("Pages(9) = %d, want %d", got, want)
	}
	if b.Pages(11) != 0 || b.Pages(0) <= b.Pages(9) {
		t.Errorf("Pages: %d of order 11, %d in all", b.Pages(11), b.Pages(0))
	}
	for _, in := range []string{"", "Node 0\n", "Node 0, zone DMA\n", "Node 0, zone DMA x\n",
		"Node 0, zone DMA" + strings.Repeat(" 1", 21), "Node 0, zone DMA 99999999999999\n"} {
		if b, err := parseBuddyinfo([]byte(in)); err == nil || b != nil {
			t.Errorf("%q: %v, %v", in, b, err)
		}
	}
}

func FuzzFreeBlocks(f *testing.F) {
	f.Add([]byte(buddyText))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parseBuddyinfo(data)
		if (err == nil) == (b == nil) {
			t.Errorf("%v, %v", b, err)
		}
		for i := range b {
			if b.Pages(i) < b.Pages(i+1) {
				t.Errorf("order %d: %d pages", i, b.Pages(i))
			}
		}
	})
}
