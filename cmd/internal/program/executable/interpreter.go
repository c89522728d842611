package executable

import (
	"bytes"
	"debug/elf"
	"io"
	"strings"
)

// maxInterpreter is the longest path of an interpreter that the kernel takes (PATH_MAX).
const maxInterpreter = 4096

// Interpreter returns the path of the program that the kernel runs for a file of this size:
// the interpreter of the #! line of a script, or the dynamic loader of an ELF file. It is ""
// for neither.
func Interpreter(r io.ReaderAt, size int64) (path string, script bool) {
	line := make([]byte, maxInterpreter)
	n, _ := io.NewSectionReader(r, 0, size).ReadAt(line, 0) // what is there of it
	if rest, ok := bytes.CutPrefix(line[:n], []byte("#!")); ok {
		rest, _, _ = bytes.Cut(rest, []byte("\n"))
		if words := strings.Fields(string(rest)); len(words) > 0 {
			return words[0], true
		}
		return "", true
	}
	f, _, err := New(r, size)
	if err != nil {
		return "", false
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz <= maxInterpreter {
			path, _ := io.ReadAll(p.Open())
			return string(bytes.TrimRight(path, "\x00")), false
		}
	}
	return "", false
}
