package overlay

import (
	"context"
	"go/version"
	"runtime"
	"strings"
	"testing"
)

func TestReadEvents(t *testing.T) {
	r, begun, err := readEvents(strings.NewReader(`{"Action":"start","Package":"p"}
{"Action":"run","Test":"TestA"}
{"Action":"run","Test":"TestA/sub"}
{"Action":"fail","Test":"TestA/sub"}
{"Action":"output","Test":"TestA","Output":"a.go:1: broken\n"}
{"Action":"fail","Test":"TestA"}
{"Action":"run","Test":"TestB"}
{"Action":"pass","Test":"TestB"}
{"Action":"run","Test":"TestC"}
{"Action":"skip","Test":"TestC"}
{"Action":"run","Test":"TestD"}
{"Action":"output","Output":"killed\n"}
{"Action":"fail"}
`))
	if err != nil || !begun {
		t.Fatal(err, begun)
	}
	for what, want := range map[string]string{"fail": "TestA TestD", "pass": "TestB", "skip": "TestC"} {
		if got := strings.Join(r.names(what), " "); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	if r.output != "a.go:1: broken\nkilled\n" {
		t.Errorf("%q", r.output)
	}
	if _, begun, err := readEvents(strings.NewReader("")); begun || err != nil {
		t.Error(begun, err)
	}
	if _, _, err := readEvents(strings.NewReader("FAIL\n")); err == nil {
		t.Error("no error for what is not JSON")
	}
}

func TestEmulator(t *testing.T) {
	if flags, err := emulator(&Toolchain{OS: runtime.GOOS, Arch: runtime.GOARCH}); flags != nil || err != nil {
		t.Error(flags, err)
	}
	if _, err := emulator(&Toolchain{OS: "plan9", Arch: runtime.GOARCH}); err == nil || !strings.Contains(err.Error(), "verify there") {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := emulator(&Toolchain{OS: runtime.GOOS, Arch: "riscv64"}); err == nil ||
		!strings.Contains(err.Error(), "apt-get install qemu-user") {
		t.Error(err)
	}
}

// Verification needs a test that passes: CI runs the whole of it.
func TestVerifyRefuses(t *testing.T) {
	p := patchOf(t, "x", "edit src/runtime/none.go\nfind 1\n|x\nafter\n|y\n")
	p.Go = []string{version.Lang(runtime.Version())}
	if _, err := Verify(context.Background(), GoCommand{Patches: []*Patch{p}}, nil); err == nil ||
		!strings.Contains(err.Error(), "src/runtime/none.go") {
		t.Error(err)
	}
}

func TestMove(t *testing.T) {
	v := &Verification{Failed: []string{"p.TestA", "p.TestB", "q.TestA"}}
	v.move("p", []string{"TestA", "TestC"}, &v.Stock)
	if strings.Join(v.Failed, " ") != "p.TestB q.TestA" || strings.Join(v.Stock, " ") != "p.TestA" {
		t.Errorf("%v, %v", v.Failed, v.Stock)
	}
}

func TestCrashed(t *testing.T) {
	for text, want := range map[string]bool{
		"a_test.go:1: too slow\n": false, "x\nfatal error: bad pointer\n": true, "panic: index\n": true,
		"runtime: marked free object\n": true, "[signal SIGSEGV: segmentation violation]": true, "": false,
	} {
		if crashed.MatchString(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}
