package inspect

import "testing"

// The rule that folio inspect and folio doctor share, from both sides.
func TestOnBasePages(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		anonymous, huge uint64
		want            bool
		text            string
	}{
		{0, 0, false, "0B of anonymous memory; below 64MiB huge pages gain little"},
		{63 * mib, 0, false, "63.00MiB of anonymous memory, 0.0% of it on huge pages; below 64MiB huge pages gain little"},
		{64 * mib, 0, true, "64.00MiB of anonymous memory, 0.0% of it on huge pages"},
		{402 * mib, 0, true, "402.0MiB of anonymous memory, 0.0% of it on huge pages"},
		{400 * mib, 199 * mib, true, "400.0MiB of anonymous memory, 49.8% of it on huge pages"},
		{400 * mib, 200 * mib, false, "400.0MiB of anonymous memory, 50.0% of it on huge pages"},
		{400 * mib, 500 * mib, false, "400.0MiB of anonymous memory, 100.0% of it on huge pages"},
	} {
		if got := OnBasePages(tt.anonymous, tt.huge); got != tt.want {
			t.Errorf("%d, %d: %v", tt.anonymous, tt.huge, got)
		}
		if got := Pages(tt.anonymous, tt.huge); got != tt.text {
			t.Errorf("%q, want %q", got, tt.text)
		}
	}
}
