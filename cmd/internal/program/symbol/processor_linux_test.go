package symbol

import (
	"debug/elf"
	"debug/gosym"
	"runtime"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// runner returns the command that runs a program of another processor. QEMU ends in a fault of its own with
// Go's for 386, which processors of amd64 run themselves.
func runner(t *testing.T, arch, program string) []string {
	t.Helper()
	emulator := map[string]string{"arm64": "qemu-aarch64", "s390x": "qemu-s390x"}[arch]
	switch {
	case arch == "386" && runtime.GOARCH == "amd64" || arch == runtime.GOARCH:
		return []string{program}
	case emulator == "":
		t.Skipf("nothing runs programs for %s here", arch)
	}
	needTool(t, emulator)
	return []string{emulator, program}
}

// TestOtherProcessorsAgreeWithTheirRuntime runs programs of other processors.
func TestOtherProcessorsAgreeWithTheirRuntime(t *testing.T) {
	testenv.Long(t)
	versions := toolchains[len(toolchains)-2:]
	if !testenv.Full() {
		versions = versions[:1]
	}
	for _, arch := range []string{"386", "arm64", "s390x"} {
		for _, version := range versions {
			t.Run(arch+" "+version, func(t *testing.T) {
				t.Parallel()
				path := build(t, "program", append(needToolchain(t, version), "GOARCH="+arch))
				check(t, path, ask(t, runner(t, arch, path)...), version)
			})
		}
	}
}

// TestOtherProcessors compares programs that cannot run here with what the
// standard library finds in them: the function and the line, without inlining.
func TestOtherProcessors(t *testing.T) {
	testenv.Long(t)
	for _, arch := range []string{"arm64", "386", "s390x"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			path := testenv.Build{Dir: "testdata/program", Env: []string{"GOOS=linux", "GOARCH=" + arch, "CGO_ENABLED=0"}}.Do(t)
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			e, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			text := e.Section(".text")
			data, err := e.Section(".gopclntab").Data()
			if err != nil {
				t.Fatal(err)
			}
			table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
			if err != nil {
				t.Fatal(err)
			}
			checked, inlined, wrong := 0, 0, 0
			for pc := text.Addr; pc < text.Addr+text.Size; pc += 44 {
				file, line, fn := table.PCToLine(pc)
				if fn == nil || file == "" || line <= 0 || strings.HasPrefix(fn.Name, "go:") {
					continue // what the linker makes itself has no line
				}
				checked++
				got := f.Lookup(pc, false)
				if len(got) > 1 {
					inlined++
				}
				if len(got) > 0 && got[0].File == file && got[0].Line == line && same(got[len(got)-1].Func, printed(fn.Name)) {
					continue
				}
				if wrong++; wrong <= 5 {
					t.Errorf("%#x: got %v, want %s %s:%d", pc, got, fn.Name, file, line)
				}
			}
			if wrong > 0 || checked < 1000 || inlined < 100 {
				t.Errorf("%d of %d wrong, %d with inlined calls", wrong, checked, inlined)
			}
		})
	}
}

// same tells whether two names are those of a function, or of a method and of
// the wrapper that it is inlined into, which Lookup leaves out: that for
// pointers, or for the method as a value.
func same(got, want string) bool {
	return got == want || got == strings.TrimSuffix(want, "-fm") || got == strings.NewReplacer("(*", "", ")", "").Replace(want)
}
