package usage

import (
	"slices"
	"testing"
)

func TestMessage(t *testing.T) {
	const text = `it belongs to user 0, and folio runs as user 65534: needs user 0 or CAP_SYS_PTRACE (sudo; or sudo setcap cap_sys_ptrace+ep "$(command -v folio)"; or docker run --cap-add SYS_PTRACE)`
	for width, want := range map[int][]string{
		0: {"folio: " + text},
		80: {
			"folio: it belongs to user 0, and folio runs as user 65534: needs user 0 or",
			`  CAP_SYS_PTRACE (sudo setcap cap_sys_ptrace+ep "$(command -v folio)"; or docker`,
			"  run --cap-add SYS_PTRACE)",
			"  As root:",
			"    sudo folio set --gogc 400 9928",
		},
	} {
		if got := Message(text, "set --gogc 400 9928", width); !slices.Equal(got, want) {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
	if got, want := Message("run ./x: no such file", "run -- ./x", 20), []string{"folio: run ./x: no", "  such file"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
