package report

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
)

func TestMemoryAdviceBound(t *testing.T) {
	for beyond, want := range map[uint64]string{
		8 * mibs: "at most 8.000MiB", 0: "at most 8.000MiB, all of it by what is above, too",
		2 * mibs: "at most 8.000MiB, 2.000MiB of it not by what is above",
	} {
		if got := MemoryAdviceBound(result.MemoryAdvice{Bytes: 8 * mibs, Beyond: beyond}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
