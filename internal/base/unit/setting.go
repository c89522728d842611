package unit

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Exact prints a size as GOMEMLIMIT takes it, in the largest unit that is exact:
// "512MiB". It is for settings and commands; Size is for what was measured.
func Exact(n uint64) string {
	for i := len(prefixes) - 1; i >= 0; i-- {
		if shift := 10 * (i + 1); n>>shift > 0 && n&(1<<shift-1) == 0 {
			return strconv.FormatUint(n>>shift, 10) + prefixes[i] + "B"
		}
	}
	return strconv.FormatUint(n, 10) + "B"
}

var prefixes = [...]string{"Ki", "Mi", "Gi", "Ti"}

// ParseSize reads a size from 1 byte to below 8 EiB: a whole or decimal number with B,
// KiB, MiB, GiB or TiB. Other units are refused with the right spelling: 1GB may mean 10^9
// or 2^30, and Go reads no 1Gi. A number below 4096 without a unit is refused: who writes 512
// means MiB, hardly bytes.
func ParseSize(s string) (uint64, error) {
	n, err := MeantSize(s)
	if err != nil {
		return 0, err
	}
	unit := strings.TrimLeft(s, "0123456789.")
	if low := strings.ToLower(strings.TrimSpace(unit)); low != "" && low != "b" && !strings.HasSuffix(low, "ib") {
		return 0, fmt.Errorf("%q: want B, KiB, MiB, GiB or TiB, such as %s%siB", s, strings.TrimSuffix(s, unit), strings.ToUpper(low[:1]))
	}
	return n, nil
}

// MeantSize is ParseSize that also takes K, Ki and KB, M and so on, each for a power of 1024.
func MeantSize(s string) (uint64, error) {
	bad := fmt.Errorf("%q is not a size: want a number with KiB, MiB or GiB, such as 512MiB", s)
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	num, unit := s, ""
	if i >= 0 {
		num, unit = s[:i], s[i:]
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, bad
	}
	shift, ok := shiftOf(strings.ToLower(strings.TrimSpace(unit)))
	if !ok {
		return 0, bad
	}
	if unit == "" && f > 0 && f < 4096 {
		return 0, fmt.Errorf("%q has no unit: want %sMiB or %[2]sGiB", s, num)
	}
	v := f * float64(uint64(1)<<shift)
	if v < 1 || v >= math.MaxInt64 {
		return 0, fmt.Errorf("%q: the size is out of range", s)
	}
	if whole, err := strconv.ParseUint(num, 10, 64); err == nil {
		return whole << shift, nil // exact, also where a float is not
	}
	return uint64(v), nil
}

// shiftOf returns the power of two of a unit in lower case.
func shiftOf(unit string) (shift int, ok bool) {
	if unit == "" || unit == "b" {
		return 0, true
	}
	for i, p := range prefixes {
		if p = strings.ToLower(p); unit == p[:1] || unit == p[:1]+"b" || unit == p || unit == p+"b" {
			return 10 * (i + 1), true
		}
	}
	return 0, false
}

// Span prints a duration that someone chose, without what is zero: "9m", "1m30s",
// "500ms".
func Span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// SpanSeconds is [Span] of seconds, to the nanosecond.
func SpanSeconds(v float64) string { return Span(time.Duration(math.Round(v * 1e9))) }

// RoundUp rounds a duration up to what one would type: whole minutes, or tens of seconds
// below two minutes, seconds below ten, tenths below one, or hours from two hours on.
func RoundUp(d time.Duration) time.Duration {
	step := time.Minute
	switch {
	case d <= time.Second:
		step = 100 * time.Millisecond
	case d <= 10*time.Second:
		step = time.Second
	case d <= 2*time.Minute:
		step = 10 * time.Second
	case d >= 2*time.Hour:
		step = time.Hour
	}
	return time.Duration(math.Ceil(float64(d)/float64(step))) * step
}

// About prints an estimate of a duration: "300ms", "4s", "40s", "4m", "3h", "days".
func About(d time.Duration) string {
	if d > 48*time.Hour {
		return "days"
	}
	return Span(RoundUp(d))
}

// Elapsed prints how long something took that one waited for: "2m38s", "1.3s".
func Elapsed(d time.Duration) string {
	return Span(d.Round(100 * time.Millisecond))
}

// ElapsedSeconds prints a time in seconds as Elapsed does.
func ElapsedSeconds(v float64) string { return Elapsed(time.Duration(v * float64(time.Second))) }
