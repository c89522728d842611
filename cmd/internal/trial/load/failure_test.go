package load

import (
	"slices"
	"testing"
)

func TestFailedText(t *testing.T) {
	s := &Settings{Timeout: 5, MaxInFlight: 10_000}
	errs := []ErrorText{{kindStatus, "503 Service Unavailable"}}
	for _, c := range []struct {
		f        Failures
		settings *Settings
		want     string
	}{
		{Failures{Timeout: 150}, s, "150 of 2,000 requests failed: not answered within 5s"},
		{Failures{Timeout: 150}, nil, "150 of 2,000 requests failed: not answered in time"},
		{Failures{Status: 10, NotSent: 1100}, s, "1,110 of 2,000 requests failed: 1,100 not sent: 10,000, the most allowed, were in flight; " +
			"10 answered with a status other than 2xx and 3xx; first: 503 Service Unavailable"},
	} {
		counts := Counts{Intended: 2000, Failed: c.f.total(), Failures: c.f}
		if got := counts.FailedText(c.settings, errs); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Loads together have all that each has: no kind of failure is lost.
func TestCountsAdd(t *testing.T) {
	one := Counts{Intended: 21, Failed: 21, Failures: Failures{NotSent: 1, Timeout: 2, Connection: 3, Status: 4, GRPC: 5, Unanswered: 6}}
	var sum Counts
	sum.add(one)
	if sum != one {
		t.Errorf("%+v, want %+v", sum, one)
	}
	first := addFirst(addFirst(nil, ErrorText{"status", "500"}), ErrorText{"status", "404"}, ErrorText{"connection", "refused"})
	if !slices.Equal(first, []ErrorText{{"status", "500"}, {"connection", "refused"}}) {
		t.Errorf("%v", first)
	}
}

func TestUnusable(t *testing.T) {
	for _, c := range []struct{ intended, succeeded int64 }{{0, 0}, {2, 1}, {2, 2}, {3, 2}} {
		r := &Result{Counts: Counts{Intended: c.intended, Succeeded: c.succeeded}}
		if got := r.Unusable(); got != "" {
			t.Errorf("%+v: %q", c, got)
		}
	}
	r := &Result{Counts: Counts{Intended: 3, Succeeded: 1, Failed: 2, Failures: Failures{Timeout: 2}}}
	if r.Unusable() == "" {
		t.Error("two of three failed")
	}
}
