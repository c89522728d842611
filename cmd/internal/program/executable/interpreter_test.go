package executable

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"
)

func TestInterpreter(t *testing.T) {
	// An ELF file of a header, one segment, and what that says.
	dynamic := func(typ elf.ProgType, name string, claimed uint64) string {
		const phoff, at = 64, 64 + 56
		var b bytes.Buffer
		for _, v := range []any{
			elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
				Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: phoff, Ehsize: 64, Phentsize: 56, Phnum: 1},
			elf.Prog64{Type: uint32(typ), Off: at, Filesz: claimed},
		} {
			if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
		return b.String() + name
	}
	loader := "/lib64/ld-linux-x86-64.so.2\x00"
	for _, c := range []struct {
		name, file, path string
		script           bool
	}{
		{"script", "#!/bin/sh -e\nexit\n", "/bin/sh", true},
		{"spaces", "#! \t/usr/bin/env perl", "/usr/bin/env", true},
		{"empty line", "#!\n", "", true},
		{"text", "text\n", "", false},
		{"empty", "", "", false},
		{"dynamic", dynamic(elf.PT_INTERP, loader, uint64(len(loader))), strings.TrimRight(loader, "\x00"), false},
		{"static", dynamic(elf.PT_LOAD, loader, uint64(len(loader))), "", false},
		{"longer than a path", dynamic(elf.PT_INTERP, loader, 1<<40), "", false},
		{"cut off", dynamic(elf.PT_INTERP, loader, uint64(len(loader)))[:100], "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if path, script := Interpreter(strings.NewReader(c.file), int64(len(c.file))); path != c.path || script != c.script {
				t.Errorf("%q, %v, want %q, %v", path, script, c.path, c.script)
			}
		})
	}
}
