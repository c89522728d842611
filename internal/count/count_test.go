package count

import (
	"math"
	"testing"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "run", "0 runs"}, {1, "run", "1 run"}, {2, "run", "2 runs"}, {1, "process", "1 process"}, {2, "process", "2 processes"},
		{999, "page fault", "999 page faults"}, {1000, "run", "1,000 runs"}, {1234567, "run", "1,234,567 runs"}, {-1, "run", "-1 runs"},
	} {
		if got := Of(c.n, c.noun); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 100: "100", -100: "-100", -1000: "-1,000", -123456: "-123,456", math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := Number(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
