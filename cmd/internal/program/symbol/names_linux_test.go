package symbol

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

const cSource = `
static __attribute__((noinline)) int local(int n) { return n * 7; }
__attribute__((noinline)) int exported(int n) { return local(n) + 1; }
int data = 3;
int main(void) { return exported(data); }
`

// compile compiles cSource.
func compile(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		testenv.Missing(t, "no gcc")
	}
	path := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command("gcc", append(args, "-x", "c", "-o", path, "-")...)
	cmd.Stdin = strings.NewReader(cSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func TestProgramInC(t *testing.T) {
	for _, c := range []struct {
		name    string
		args    []string
		symbols func(*elf.File) ([]elf.Symbol, error)
		want    []string
		without []string
	}{
		{"program", nil, (*elf.File).Symbols, []string{"exported", "local", "main"}, []string{"data"}},
		{"library", []string{"-shared", "-fPIC"}, (*elf.File).Symbols, []string{"exported", "local", "main"}, []string{"data"}},
		{"stripped library", []string{"-shared", "-fPIC", "-s"}, (*elf.File).DynamicSymbols,
			[]string{"exported", "main"}, []string{"data", "local"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := compile(t, append([]string{"-O1"}, c.args...)...)
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if f.IsGo() || f.GoVersion() != "" {
				t.Errorf("a program in C is Go %q", f.GoVersion())
			}
			e, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			symbols, err := c.symbols(e)
			if err != nil {
				t.Fatal(err)
			}
			names := slices.Collect(f.Functions())
			for _, name := range c.want {
				i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
				if i < 0 {
					t.Fatalf("the compiler made no %s", name)
				}
				s := symbols[i]
				for _, l := range []struct {
					address  uint64
					callsite bool
				}{{s.Value, false}, {s.Value + 1, true}, {s.Value + s.Size - 1, false}, {s.Value + s.Size, true}} {
					if got := f.Lookup(l.address, l.callsite); !slices.Equal(got, []Frame{{Func: name}}) {
						t.Errorf("%s: %v: got %v", name, l, got)
					}
				}
				if !slices.Contains(names, name) {
					t.Errorf("%s is not in %v", name, names)
				}
			}
			for _, name := range c.without {
				if slices.Contains(names, name) {
					t.Errorf("%s is in %v", name, names)
				}
			}
		})
	}
}

func TestNames(t *testing.T) {
	b := []byte("\x00a\x00b\x00c\x00")
	n := &names{
		strings: newSource(bytes.NewReader(b), int64(len(b))).all(),
		list:    []name{{0x30, 0, 5}, {0x10, 0, 3}, {0x10, 8, 1}, {0x20, 0, 3}},
	}
	n.sort()
	for address, want := range map[uint64]string{0xf: "", 0x10: "a", 0x17: "a", 0x18: "", 0x20: "b", 0x2f: "b", 0x30: "c", 0x31: ""} {
		if got := n.lookup(address); got != want {
			t.Errorf("%#x: got %q, want %q", address, got, want)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\necho a script, not a program\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "short")
	if err := os.WriteFile(short, []byte("\x7fELF\x02\x01\x01"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		text:                         "symbols of " + text + ": not an ELF file",
		short:                        "symbols of " + short + ": not a whole ELF file: it is cut off in the header",
		dir:                          "symbols: open " + dir + ": not a regular file",
		os.DevNull:                   "symbols: open " + os.DevNull + ": not a regular file",
		filepath.Join(dir, "absent"): "symbols: open " + filepath.Join(dir, "absent") + ": no such file or directory",
	} {
		f, err := Open(path)
		if f != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
