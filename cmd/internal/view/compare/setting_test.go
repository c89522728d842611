package compare

import (
	"strings"
	"testing"
)

// What a benchmark file says of its setting, and cannot be read, is said.
func TestSettingUnknown(t *testing.T) {
	for _, c := range []struct{ key, value, want string }{
		{"gogc", "400", "GOGC=400"},
		{"gogc", "4x", "unknown: GOGC"},
		{"gomemlimit", "big", `unknown: "big"`},
		{"gomaxprocs", "1.5", "unknown: GOMAXPROCS"},
	} {
		s := newSet("a")
		s.config = map[string][]string{"gogc": {"default"}}
		s.config[c.key] = []string{c.value}
		s.arms = []string{""}
		if got := s.setting(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: got %q, want %q", c.key, c.value, got, c.want)
		}
	}
}
