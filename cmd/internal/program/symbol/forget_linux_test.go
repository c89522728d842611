package symbol

import (
	"os"
	"slices"
	"testing"
)

// A file that is kept forgets what it read, says the same afterwards, and gives its
// budget all that it took.
func TestForget(t *testing.T) {
	path := build(t, "program", nil)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	const memory = 8 << 20
	b := BudgetOf(memory, 1<<30)
	f, err := New(file, info.Size(), b)
	if err != nil {
		t.Fatal(err)
	}
	names := func() (out []string) {
		for fn := range f.Funcs() {
			for _, frame := range f.Lookup(fn.Entry, false) {
				out = append(out, frame.Func)
			}
			f.Lookup(fn.Entry+1<<40, false) // nothing of Go: the symbols are read
		}
		return out
	}
	first := names()
	if b.Kept() <= minBlocks*blockSize || b.memory >= memory {
		t.Fatalf("%d bytes are kept, the budget has %d left", b.Kept(), b.memory)
	}
	f.Forget()
	if b.Kept() != 0 || len(f.pcln.strings) != 0 || f.names.kept == 0 || b.memory != memory-f.names.kept {
		t.Errorf("%d bytes and %d strings are kept, %d bytes of symbols, the budget has %d left", b.Kept(), len(f.pcln.strings), f.names.kept, b.memory)
	}
	if again := names(); len(first) == 0 || !slices.Equal(again, first) {
		t.Errorf("%d names, then %d", len(first), len(again))
	}
	if err := f.Close(); err != nil || b.Kept() != 0 || b.memory != memory {
		t.Errorf("closed: %v, %d bytes are kept, the budget has %d left", err, b.Kept(), b.memory)
	}
}
