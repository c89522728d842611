package thrash

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// A Then is what is done to a program that dies by GC besides saving evidence. The zero value is
// nothing.
type Then struct {
	Term    bool   // send TERM
	Bytes   uint64 // raise its memory limit by at most so much in all
	Percent uint64 // or by so many percent of the limit that it had first
}

// ParseThen reads a Then.
func ParseThen(text string) (t Then, err error) {
	size, raise := strings.CutPrefix(text, "raise=")
	number, share := strings.CutSuffix(size, "%")
	switch {
	case text == "term":
		return Then{Term: true}, nil
	case raise && share:
		t.Percent, err = strconv.ParseUint(number, 10, 16)
	case raise:
		t.Bytes, err = unit.ParseSize(size)
	}
	if err != nil || t == (Then{}) || t.Bytes > math.MaxInt64 {
		return Then{}, fmt.Errorf("%q: want raise=SIZE such as raise=64MiB, raise=N%% such as raise=10%%, or term", text)
	}
	return t, nil
}

// ParseFlags reads --then, and checks what may be given with --watch.
func ParseFlags(watch bool, then string, given func(flag string) bool) (Then, error) {
	for _, flag := range []string{"then", "save"} {
		if !watch && given(flag) {
			return Then{}, fmt.Errorf("--%s: is for --watch", flag)
		}
	}
	for _, flag := range []string{"gogc", "memlimit"} {
		if watch && given(flag) {
			return Then{}, fmt.Errorf("--%s with --watch: run folio set --%s first, then folio set --watch", flag, flag)
		}
	}
	if watch && given("for") {
		return Then{}, errors.New("--for with --watch: it lasts until the process ends, or ctrl-C; leave --for out")
	}
	if !given("then") {
		return Then{}, nil
	}
	t, err := ParseThen(then)
	if err != nil {
		return t, fmt.Errorf("--then: %w", err)
	}
	return t, nil
}

func (t Then) raises() bool { return t.Bytes > 0 || t.Percent > 0 }

// bound is by how much a limit may be raised in all.
func (t Then) bound(first uint64) uint64 {
	if t.Percent > 0 {
		return uint64(float64(first) * float64(t.Percent) / 100)
	}
	return t.Bytes
}

// String is as it was given.
func (t Then) String() string {
	switch {
	case t.Term:
		return "term"
	case t.Percent > 0:
		return fmt.Sprintf("raise=%d%%", t.Percent)
	}
	return "raise=" + unit.Exact(t.Bytes)
}

// does says what it does, after a comma; "" for nothing.
func (t Then) does() string {
	switch {
	case t.Term:
		return ", then sends TERM"
	case t.Percent > 0:
		return fmt.Sprintf(", then raises GOMEMLIMIT by up to %d%%", t.Percent)
	case t.Bytes > 0:
		return ", then raises GOMEMLIMIT by up to " + unit.Exact(t.Bytes)
	}
	return ""
}
