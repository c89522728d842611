package report

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
)

// RSS is no use of a limit where it is not charged: no share is above 100%.
func TestLimitText(t *testing.T) {
	const mib = 1 << 20
	process := func(rss, uncharged int64) *result.Process {
		return &result.Process{
			Limit:     &result.MemoryLimit{Bytes: 64 * mib, Used: 2 * mib},
			Waterfall: &result.Waterfall{RSS: uint64(rss), Parts: []result.MemoryPart{{Kind: "files", Bytes: rss - uncharged}, {Kind: "uncharged", Bytes: uncharged}}},
		}
	}
	for _, c := range []struct {
		rss, uncharged int64
		want           string
	}{
		{32 * mib, 0, "RSS is 50.0% of the limit of its cgroup, 64.00MiB, which uses 2.000MiB"},
		{258 * mib, 256 * mib, "RSS, but for 256.0MiB that are charged to no cgroup, is 3.1% of the limit of its cgroup, 64.00MiB, which uses 2.000MiB"},
		{258 * mib, 0, "RSS is 258.0MiB, more than the limit of its cgroup, 64.00MiB: some of it is charged to other cgroups, or to none. The cgroup uses 2.000MiB"},
	} {
		if got := LimitText(process(c.rss, c.uncharged)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
