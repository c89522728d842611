// Package cgrouptest makes cgroups for tests.
package cgrouptest

import (
	"testing"

	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// WithMemory returns a cgroup that may have so many bytes. It is removed after the test, once what
// the test's later cleanups end has ended. Where cgroups cannot be made the test is skipped.
func WithMemory(t testing.TB, bytes uint64) *cgroup.Group {
	t.Helper()
	p, err := cgroup.Open(procmem.FS{}, cgroup.Limits{Memory: &bytes})
	if err != nil {
		testenv.Missing(t, "%v", err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	g, err := p.New()
	if err != nil {
		t.Fatal(err)
	}
	return g
}
