package callsite

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/test/testenv"
)

var testTime = time.Unix(1e9, 0)

// heapOf makes a profile of records whose address is a line of the program.
func heapOf(t testing.TB, rate uint64, records ...goruntime.HeapRecord) *profile.Profile {
	t.Helper()
	names := func(pc uint64) []symbol.Frame {
		return []symbol.Frame{{Func: "main.f" + string(rune('a'+pc/100)), File: "/src/main.go", Line: int(pc)}}
	}
	p, err := HeapProfile(&goruntime.HeapProfile{Rate: rate, Records: records}, names, "program", testTime)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	if p, err = Parse(&b); err != nil {
		t.Fatal(err)
	}
	return p
}

func record(line, size, allocated, freed uint64) goruntime.HeapRecord {
	return goruntime.HeapRecord{Size: size, AllocObjects: allocated, AllocBytes: allocated * size, FreedObjects: freed, FreedBytes: freed * size,
		Stack: []uint64{line, 200, 300}}
}

func TestCompare(t *testing.T) {
	before := heapOf(t, 1, record(1, 100, 10, 0), record(2, 50, 100, 0), record(3, 10, 7, 7))
	after := heapOf(t, 1, record(1, 100, 30, 5), record(2, 50, 100, 90), record(3, 10, 8, 7), record(4, 8, 1000, 0))
	d, err := Compare(before, after)
	if err != nil || d.Other || len(d.Changes) != 4 {
		t.Fatalf("%+v, %v", d, err)
	}
	for i, want := range []struct{ line, growth int64 }{{4, 8000}, {1, 1500}, {3, 10}, {2, -4500}} {
		c := d.Changes[i]
		if c.Line != want.line || c.Growth() != want.growth || c.Error != 0 || !c.Certain() || len(c.Callers) != 2 {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	if d, err = Compare(after, before); err != nil || !d.Other {
		t.Errorf("%+v, %v", d, err)
	}
	before.SampleType[0].Type = "samples"
	if d, err = Compare(before, after); !errors.Is(err, ErrNotHeap) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestSamplingError simulates the runtime's sampling: growth is within its error as often
// as it says.
func TestSamplingError(t *testing.T) {
	testenv.Alone(t)
	r := rand.New(rand.NewPCG(1, 2))
	const rate, size, trials = 512 << 10, 64 << 10, 400
	p := 1 - math.Exp(-float64(size)/rate)
	sampled := func(n int) (k uint64) {
		for range n {
			if r.Float64() < p {
				k++
			}
		}
		return k
	}
	outside := 0
	for range trials {
		// 2000 stay, 500 go, 700 come.
		stay, gone, came := sampled(2000), sampled(500), sampled(700)
		d, err := Compare(heapOf(t, rate, record(1, size, stay+gone, 0)), heapOf(t, rate, record(1, size, stay+gone+came, gone)))
		if err != nil || len(d.Changes) != 1 {
			t.Fatal(d, err)
		}
		c := d.Changes[0]
		if math.Abs(float64(c.Growth())-200*size) > c.Error {
			outside++
		}
	}
	if share := float64(outside) / trials; share > 0.08 || share < 0.02 {
		t.Errorf("%.3f are outside of the interval, want about 0.05", share)
	}
}

// FuzzCompare compares what anyone may have written.
func FuzzCompare(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, heapOf(f, 1, record(1, 100, 10, 0))); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), b.Bytes())
	f.Fuzz(func(t *testing.T, one, two []byte) {
		a, err := Parse(bytes.NewReader(one))
		if err != nil {
			return
		}
		b, err := Parse(bytes.NewReader(two))
		if err != nil {
			return
		}
		_, _ = Compare(a, b)
	})
}

// What the runtime allocates for itself, and what has no names, are rows, too: all rows add
// up to the whole.
func TestRowsAddUp(t *testing.T) {
	names := map[uint64][]symbol.Frame{
		1: {{Func: "runtime.malg", File: "/go/proc.go", Line: 9}}, 2: {{Func: "runtime.newproc1", File: "/go/proc.go", Line: 8}},
		3: {{Func: "runtime.(*timers).addHeap", File: "/go/time.go", Line: 7}}, 4: {{Func: "main.f", File: "/src/main.go", Line: 6}},
	}
	record := func(n uint64, stack ...uint64) goruntime.HeapRecord {
		return goruntime.HeapRecord{Stack: stack, Size: n, AllocObjects: 1, AllocBytes: n}
	}
	h := &goruntime.HeapProfile{Rate: 1, Records: []goruntime.HeapRecord{record(100, 1, 2), record(20, 3), record(500, 2, 4), record(3, 99), record(4)}}
	p, err := HeapProfile(h, func(pc uint64) []symbol.Frame { return names[pc] }, "program", testTime)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Compare(&profile.Profile{SampleType: p.SampleType, Period: p.Period}, p)
	if err != nil {
		t.Fatal(err)
	}
	got, sum := map[string]int64{}, Use{}
	for _, c := range d.Changes {
		got[c.Func] += c.After.InUseBytes
		sum.Add(c.After)
	}
	want := map[string]int64{"main.f": 500, Runtime: 120, Unknown: 7}
	if !maps.Equal(got, want) || sum != d.After || sum.InUseBytes != 627 {
		t.Errorf("%v, sum %+v of %+v", got, sum, d.After)
	}
}
