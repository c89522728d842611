package codepatch

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// TestPaddingIsBreakpoints: behind a function there is nothing but what the linker
// fills up with.
func TestPaddingIsBreakpoints(t *testing.T) {
	fn := symbol.Func{Name: "f", Entry: 0x1000, End: 0x1004}
	for _, c := range []struct {
		code []byte
		ok   bool
	}{
		{[]byte{0xc3, 0xcc, 0xcc, 0xcc}, true},
		{[]byte{0xc3, 0xcc, 0xff, 0xcc}, false},
		{[]byte{0xc3, 0xcc, 0xcc, 0x90}, false},
	} {
		if _, err := usesAMD64(fn, c.code); (err == nil) != c.ok {
			t.Errorf("% x: %v", c.code, err)
		}
	}
}
