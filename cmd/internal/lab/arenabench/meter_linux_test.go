package arenabench

import (
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestSizeIn(t *testing.T) {
	const status = "Name:\tx\nVmHWM:\t   1234 kB\nVmRSS:\tmuch kB\nLast: 5 kB"
	for field, want := range map[string]uint64{"VmHWM:": 1234 << 10, "VmRSS:": 0, "Last:": 5 << 10, "NoSuch:": 0} {
		if got := sizeIn(status, field); got != want {
			t.Errorf("%s %d, want %d", field, got, want)
		}
	}
	if kilobytes("/no/such/file", "x:") != 0 {
		t.Error("a file that is not there has a size")
	}
}

func FuzzSizeIn(f *testing.F) {
	f.Add("VmHWM:\t   1234 kB\n")
	f.Fuzz(func(t *testing.T, text string) { sizeIn(text, "VmHWM:") })
}

// The peak is of this program, and work touches memory.
func TestMeter(t *testing.T) {
	testenv.Long(t)
	const size = 16 << 20
	r, err := Works[0].Do(heap{}, size, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Peak < size || r.Resident == 0 || r.Resident > r.Peak || r.Faults == 0 || r.Wall <= 0 || r.User+r.System <= 0 {
		t.Errorf("%+v", r)
	}
}
