package feature

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

func TestAnswersAreThree(t *testing.T) {
	var known atomic.Int32
	calls := 0
	answer := errors.New("no /proc")
	ask := func() error {
		return have(Collapse, &known, func() error { calls++; return answer })
	}
	// Inconclusive: the cause is told, and the next time it is asked again.
	for i := 1; i <= 2; i++ {
		if err := ask(); !errors.Is(err, answer) || errors.Is(err, ErrNotSupported) ||
			!strings.Contains(err.Error(), "MADV_COLLAPSE") || calls != i {
			t.Errorf("call %d: %v", calls, err)
		}
	}
	answer = ErrNotSupported
	for range 2 {
		err := ask()
		if _, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNotSupported) || calls != 3 ||
			!strings.Contains(err.Error(), "Linux 6.1 or newer") {
			t.Errorf("call %d: %v", calls, err)
		}
	}
	known.Store(0)
	answer = nil
	for range 2 {
		if err := ask(); err != nil || calls != 4 {
			t.Errorf("call %d: %v", calls, err)
		}
	}
}

func TestEveryFeatureSaysSinceWhen(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range all() {
		since, _ := f.Since()
		if f.String() == "" || seen[f.String()] || since == (Version{}) || features[f].probe == nil {
			t.Errorf("feature %d is %q since %v", int(f), f, since)
		}
		seen[f.String()] = true
	}
}

func TestParseVersion(t *testing.T) {
	for release, want := range map[string]Version{
		"6.18.44-fc-v657": {6, 18, 44}, "5.10": {5, 10, 0}, "6.1.0-rc3": {6, 1, 0}, "4.4.0": {4, 4, 0},
		"6.8.0-45-generic": {6, 8, 0}, "6.12-rc1": {6, 12, 0}, "5.15.153.1-microsoft-standard-WSL2": {5, 15, 153},
	} {
		if got, ok := ParseVersion(release); !ok || got != want {
			t.Errorf("%q: %v, %v", release, got, ok)
		}
	}
	for _, release := range []string{"", "x", "#1", "6", "-1.2", "99999999999.1", "6.x"} {
		if got, ok := ParseVersion(release); ok {
			t.Errorf("%q: %v", release, got)
		}
	}
	if a, b := (Version{5, 9, 9}), (Version{5, 10, 0}); !a.Less(b) || b.Less(a) || a.Less(a) {
		t.Error("5.9.9 is not older than 5.10")
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("6.18.44-fc-v657")
	f.Fuzz(func(t *testing.T, release string) {
		v, ok := ParseVersion(release)
		if !ok {
			return
		}
		if again, ok := ParseVersion(v.String()); !ok || again != v {
			t.Errorf("%q is %v, which is %v", release, v, again)
		}
	})
}

// all returns all features.
func all() []Feature {
	out := make([]Feature, count)
	for i := range out {
		out[i] = Feature(i)
	}
	return out
}
