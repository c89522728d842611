package symbol

import (
	"debug/elf"
	"os"
	"reflect"
	"runtime"
	"testing"
)

// useCode asks a file everything about its code.
func useCode(f *File, address uint64) {
	f.HasTable()
	f.Extent()
	f.Sections()
	f.Flags(address)
	f.Bytes(address, 100)
	f.Words(address, 3)
	f.FuncAt(address)
	n := 0
	for fn := range f.Funcs() {
		f.FuncAt(fn.Entry)
		if n++; n == 1000 {
			break
		}
	}
	n = 0
	f.Pointers(address, func(uint64) bool { n++; return n == 10 })
}

var aPointer = &pointed

var pointed int32

func TestCodeOfThisProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs of this system are not in the ELF format")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !f.HasTable() || f.Class() != elf.ELFCLASS64 {
		t.Fatalf("table %v, class %v", f.HasTable(), f.Class())
	}
	info, err := os.Stat(path)
	if err != nil || f.Extent() != uint64(info.Size()) {
		t.Errorf("the headers name %d bytes, the file has %v (%v)", f.Extent(), info.Size(), err)
	}
	want := "github.com/foliomem/folio/cmd/internal/program/symbol.TestCodeOfThisProgram"
	var own Func
	last := uint64(0)
	for fn := range f.Funcs() {
		if fn.Entry < last || fn.End < fn.Entry {
			t.Fatalf("%+v after %#x", fn, last)
		}
		if last = fn.Entry; fn.Name == want {
			own = fn
		}
	}
	pc := uint64(reflect.ValueOf(TestCodeOfThisProgram).Pointer())
	if at, ok := f.FuncAt(own.Entry + 1); !ok || at != own || own.Entry == 0 {
		t.Errorf("FuncAt: %+v, %v; Funcs: %+v", at, ok, own)
	}
	if f.Type() == elf.ET_EXEC && own.Entry != pc {
		t.Errorf("%s is at %#x, the runtime says %#x", want, own.Entry, pc)
	}
	if f.Flags(own.Entry)&elf.PF_X == 0 || f.Bytes(own.Entry, 16) == nil {
		t.Error("no code at its entry")
	}
	if f.Type() != elf.ET_EXEC {
		return // a variable's address is not the linker's
	}
	at := uint64(reflect.ValueOf(&aPointer).Pointer())
	to := uint64(reflect.ValueOf(aPointer).Pointer())
	found := false
	f.Pointers(to, func(p uint64) bool { found = p == at; return found })
	if w := f.Words(at, 1); !found || len(w) != 1 || w[0] != to || f.Flags(at)&elf.PF_W == 0 {
		t.Errorf("the pointer at %#x to %#x: found %v, words %#x", at, to, found, w)
	}
}
