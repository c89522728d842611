package cgroup

import (
	"math"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	for text, want := range map[string]string{
		"512MiB": "512MiB", "4MiB": "4MiB", "1.5GiB": "1536MiB",
		"4095KiB": "4095KiB: must be 4MiB or more: no Go program runs in less",
		"1B":      "1B: must be 4MiB or more: no Go program runs in less",
		"512":     `"512" has no unit: want 512MiB or 512GiB`,
		"0":       `"0": the size is out of range`, "-1MiB": `"-1MiB" is not a size: want a number with KiB, MiB or GiB, such as 512MiB`,
		"much": `"much" is not a size: want a number with KiB, MiB or GiB, such as 512MiB`,
	} {
		m, err := ParseMemory(text)
		got := Limits{Memory: m}.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for n, want := range map[float64]string{
		1: "1 CPU", 1.5: "1.5 CPUs", 0.01: "0.01 CPUs", 1000: "1000 CPUs",
		0: "0: must be more than 0", -2: "-2: must be more than 0", 0.001: "0.001: must be 0.01 or more: the kernel has no smaller quota",
		math.Inf(1): "+Inf: want a number of CPUs, such as 1.5", 1e7: "1e+07: want a number of CPUs, such as 1.5",
	} {
		c, err := CheckCPUs(n)
		got := Limits{CPUs: c}.String()
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%v: %s, want %s", n, got, want)
		}
	}
	if _, err := CheckCPUs(math.NaN()); err == nil {
		t.Error("NaN CPUs")
	}
	if got := both().String(); got != "512MiB, 1.5 CPUs" {
		t.Error(got)
	}
	if !(Limits{}).IsZero() || both().IsZero() || (Limits{}).String() != "" {
		t.Error("no limits")
	}
}

// A name says who made a cgroup. What is not one is nobody's.
func FuzzName(f *testing.F) {
	f.Add("folio-4026531836-12-345-1")
	f.Add("folio-lab-12")
	f.Add("folio-0-1-2-self")
	f.Fuzz(func(t *testing.T, name string) {
		o, what, ok := parseName(name)
		if ok && (o.name(what) != name || o.pid < 1 || strings.Contains(what, "-")) {
			t.Errorf("%q is of %+v for %q", name, o, what)
		}
	})
}
