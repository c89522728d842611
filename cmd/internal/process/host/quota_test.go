package host

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/executable"
)

// Go derives GOMAXPROCS from the CPU quota since 1.25, unless GODEBUG says otherwise: that
// of the environment first, then what go.mod gave the program.
func TestIgnoresQuota(t *testing.T) {
	for _, c := range []struct {
		version, built, env string
		want                string
	}{
		{"go1.26.8", "", "", ""},
		{"go1.25", "", "", ""},
		{"go1.24.13", "", "", "go1.24.13 does not know of it"},
		{"go1.18", "", "containermaxprocs=1", "go1.18 does not know of it"},
		{"go1.25.0 X:nodwarf5", "", "", ""},
		{"go1.27-devel", "", "", ""}, // what no rule knows is new
		{"devel go1.27-abc", "", "", ""},
		{"go1.26.8", "asynctimerchan=1,containermaxprocs=0,x=1", "", "it was built with containermaxprocs=0, as go.mod says go 1.24 or older"},
		{"go1.26.8", "containermaxprocs=0", "gctrace=1,containermaxprocs=1", ""},
		{"go1.26.8", "", "containermaxprocs=1,containermaxprocs=0", "GODEBUG has containermaxprocs=0"},
	} {
		got := ignoresQuota(executable.Build{GoVersion: c.version, GODEBUG: c.built}, []string{"A=1", "GODEBUG=gctrace=1", "GODEBUG=" + c.env})
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	for _, path := range []string{"", "no-such-program", "/bin/sh"} {
		if got := IgnoresQuota(path, nil); got != "the program cannot be read" {
			t.Errorf("%q: %q", path, got)
		}
	}
}
