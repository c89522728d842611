package overlay

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"
)

// code returns the machine code of the functions of mallocgc, as the compiler makes it
// for the runtime: for each function its instructions.
func code(t *testing.T, arch string, patches ...string) map[string][]string {
	t.Helper()
	env := append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOARCH="+arch)
	call := Call{Path: "go", Env: env, Args: []string{"list", "-export", "-f", "{{.Export}}", "runtime"}}
	if len(patches) > 0 {
		list, err := Lookup(patches...)
		if err != nil {
			t.Fatal(err)
		}
		if _, call, err = (GoCommand{Env: env, Patches: list, Args: call.Args}).Prepare(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	run := func(call Call) string {
		cmd := call.Cmd(context.Background())
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", call.Args, err, said.String())
		}
		return string(out)
	}
	object := strings.TrimSpace(run(call))
	call.Args = []string{"tool", "objdump", "-s", `^runtime\.mallocgc`, object}
	out := make(map[string][]string)
	name := ""
	for s := bufio.NewScanner(strings.NewReader(run(call))); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "TEXT "); ok {
			name, _, _ = strings.Cut(rest, "(SB)")
			continue
		}
		// "file:line", address, bytes, instruction
		if f := strings.Fields(s.Text()); len(f) > 3 {
			out[name] = append(out[name], f[2]+" "+f[3])
		}
	}
	if len(out) < 20 { // Go 1.26 has some 80, 1.27 some 25
		t.Fatalf("only %d functions of mallocgc", len(out))
	}
	return out
}

// On arm64 each function that makes an object prefetches it; mallocgc itself only
// chooses among them.
func TestPrefetchOnARM64(t *testing.T) {
	count := func(instructions []string) int {
		n := 0
		for _, i := range instructions {
			if strings.HasSuffix(i, " PRFM") {
				n++
			}
		}
		return n
	}
	stock, patched := code(t, "arm64"), code(t, "arm64", MallocPrefetch)
	if len(stock) != len(patched) {
		t.Fatalf("%d functions, %d with the patch", len(stock), len(patched))
	}
	for name, instructions := range patched {
		want := count(stock[name]) + 1
		if name == "runtime.mallocgc" || strings.HasSuffix(name, "Stub") { // what the others are generated from
			want--
		}
		if got := count(instructions); got != want {
			t.Errorf("%s: %d prefetches, %d without the patch", name, got, count(stock[name]))
		}
	}
}

// Elsewhere the code is the same, byte for byte.
func TestNoPrefetchOnAMD64(t *testing.T) {
	stock, patched := code(t, "amd64"), code(t, "amd64", MallocPrefetch)
	if len(stock) != len(patched) {
		t.Fatalf("%d functions, %d with the patch", len(stock), len(patched))
	}
	for name, instructions := range stock {
		if strings.Join(instructions, "\n") != strings.Join(patched[name], "\n") {
			t.Errorf("%s is another with the patch", name)
		}
	}
}
