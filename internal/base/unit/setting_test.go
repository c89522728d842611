package unit

import (
	"math"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/property"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]uint64{
		"1B": 1, "4096": 4096, "4096b": 4096, "1KiB": 1 << 10, "1kib": 1 << 10, "512MiB": 512 << 20,
		"512 MiB": 512 << 20, "1.5GiB": 3 << 29, "0.5GiB": 1 << 29, ".5GiB": 1 << 29, "2tib": 2 << 40, "1.GiB": 1 << 30,
		// More digits than a float64 has.
		"9007199254740993": 1<<53 + 1, "9223372036854774783B": math.MaxInt64 - 1024,
	} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", " ", "5", "512", "4095", "MiB", "x", "-1", "-1MiB", "+1", "0", "0B", "0.0001", "1.2.3", ".", "1e3", "1 2", "512 MiB x", "1PiB", "1iB", "1_000",
		"1K", "1k", "1KB", "1Ki", "1.5G", "2TB", "0x10", "NaN", "Inf", "١", "9223372036854775807", "18446744073709551616", "9999999TiB", strings.Repeat("9", 400),
	} {
		got, err := ParseSize(in)
		if err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", in, got)
			continue
		}
		checkMessage(t, err)
	}
}

func TestExact(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0B", 1: "1B", 1000: "1000B", 1024: "1KiB", 1536: "1536B", 1 << 20: "1MiB", 3 << 29: "1536MiB", 1 << 40: "1TiB", 5 << 50: "5120TiB",
		math.MaxUint64: "18446744073709551615B",
	} {
		if got := Exact(n); got != want {
			t.Errorf("Exact(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestBytesRoundTrip(t *testing.T) {
	property.Check(t, func(t *property.T) {
		n := t.Uint("n", 1, math.MaxInt64-1024) >> t.Uint("shift", 0, 62)
		checkRoundTrip(t, max(n, 1))
	})
}

func checkRoundTrip(t interface{ Fatalf(string, ...any) }, n uint64) {
	text := Exact(n)
	if got, err := ParseSize(text); err != nil || got != n {
		t.Fatalf("%d is printed as %s, which reads as %d, %v", n, text, got, err)
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"512MiB", "1.5G", "0", ".", "9223372036854775807", "1 kb", "99999999999999999999", "\xff", "1\u00a0K"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err != nil {
			checkMessage(t, err)
			return
		}
		if n < 1 || n >= math.MaxInt64 {
			t.Fatalf("%q gave %d, out of range", s, n)
		}
		checkRoundTrip(t, n)
	})
}

// A unit that may mean another size is refused with the right spelling.
func TestParseSizeUnits(t *testing.T) {
	for in, want := range map[string]string{
		"1GB": "1GiB", "1.5G": "1.5GiB", "1024Mi": "1024MiB", "512 MB": "512MiB", "4k": "4KiB", "2tb": "2TiB",
	} {
		_, err := ParseSize(in)
		if err == nil || !strings.HasSuffix(err.Error(), ": want B, KiB, MiB, GiB or TiB, such as "+want) {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
		if got, err := MeantSize(in); err != nil {
			t.Errorf("MeantSize(%q): %v", in, err)
		} else if same, err := ParseSize(want); err != nil || got != same {
			t.Errorf("MeantSize(%q) = %d, want %d (%v)", in, got, same, err)
		}
	}
}
