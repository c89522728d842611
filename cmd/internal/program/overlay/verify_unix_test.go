//go:build unix

package overlay

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Tests that fail are run without the patches, and then with them again.
func TestVerifyFailures(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	real, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	fake := filepath.Join(dir, "go")
	script := `#!/bin/sh
case "$1" in env) exec ` + real + ` "$@";; esac
say() { printf '{"Action":"run","Test":"%s"}\n{"Action":"output","Test":"%s","Output":"%s\\n"}\n{"Action":"%s","Test":"%s"}\n' "$1" "$1" "$3" "$2" "$1"; }
case "$*" in
*runtime/debug) say TestGood pass; exit 0;;
*-overlay*Malloc*runtime) say TestGood pass; say TestStock fail; say TestUnsteady fail; say TestBroken fail ` + "\"$SAYS\"" + `;;
*-overlay*) say TestGood pass; say TestUnsteady pass; say TestBroken fail;;
*) say TestStock fail; say TestUnsteady pass; say TestBroken pass;;
esac
exit 1
`
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if tc, err := FindToolchain(context.Background(), "", "", os.Environ()); err != nil {
		t.Fatal(err)
	} else if _, linked, _ := tc.inModules(store{dir: t.TempDir()}); linked {
		t.Skip("of a toolchain in the module cache the go command is called by a link, not the one of this test")
	}
	list, err := Lookup(HeapMinimum)
	if err != nil {
		t.Fatal(err)
	}
	for says, want := range map[string]struct{ failed, unsteady string }{
		"a_test.go:1: slow": {"runtime.TestBroken", "runtime.TestUnsteady"},
		"fatal error: x":    {"runtime.TestBroken runtime.TestUnsteady", ""},
	} {
		t.Setenv("SAYS", says)
		v, err := Verify(context.Background(), GoCommand{Go: fake, Patches: list}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(v.Failed, " "); got != want.failed {
			t.Errorf("%s: failed %s, want %s", says, got, want.failed)
		}
		if got := strings.Join(v.Unsteady, " "); got != want.unsteady {
			t.Errorf("%s: unsteady %s, want %s", says, got, want.unsteady)
		}
		if got := strings.Join(v.Stock, " "); got != "runtime.TestStock" {
			t.Errorf("%s: without the patches fail %s", says, got)
		}
	}
}
