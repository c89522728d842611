package thrash

import (
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// reading is one of a process whose GC took so much CPU time, a cycle ten milliseconds.
func reading(gogc int32, limited bool, percent uint64, gc time.Duration) *goruntime.GC {
	g := &goruntime.GC{Percent: gogc, Live: 1000, Goal: 1000 + 10*percent, Pace: goruntime.Pace{Limited: limited, Base: 1000}}
	g.Cycles = uint32(gc / (10 * time.Millisecond))
	g.CPU.Dedicated, g.Unfinished.Assist = gc/2, gc-gc/2
	return g
}

// A program dies by GC if its limit keeps the effective GOGC low for all of the time, and the GC
// works. It is said once, and again only after it was better.
func TestJudge(t *testing.T) {
	const every = time.Second
	slow := func(forced int) func(i int) *goruntime.GC {
		return func(i int) *goruntime.GC {
			g := reading(100, true, 5, time.Duration(i)*every)
			g.Cycles, g.Forced = uint32(i/5+i*forced), uint32(i*forced)
			return g
		}
	}
	steady := func(gogc int32, limited bool, percent uint64, load float64) func(i int) *goruntime.GC {
		return func(i int) *goruntime.GC {
			return reading(gogc, limited, percent, time.Duration(float64(i)*load*float64(every)))
		}
	}
	once := func(at, percent int) func(i int) *goruntime.GC {
		return func(i int) *goruntime.GC {
			if i == at {
				return reading(100, true, uint64(percent), time.Duration(i)*every)
			}
			return reading(100, true, 5, time.Duration(i)*every)
		}
	}
	for _, c := range []struct {
		name string
		at   func(i int) *goruntime.GC
		want []int
	}{
		{"low", steady(100, true, 9, 0.5), []int{30}},
		{"no GOGC", steady(-1, true, 0, 0.5), []int{30}},
		{"GOGC=10", steady(10, true, 9, 0.5), []int{30}},
		{"GOGC=9", steady(9, true, 5, 0.5), nil},
		{"GOGC=0", steady(0, true, 0, 0.5), nil},
		{"GOGC decides", steady(100, false, 5, 0.5), nil},
		{"room", steady(100, true, 10, 0.5), nil},
		{"it rests", steady(100, true, 0, 0.09), nil},
		{"it hardly rests", steady(100, true, 0, 0.11), []int{30}},
		{"long cycles", slow(0), []int{50}},
		{"long cycles, and some of runtime.GC", slow(3), []int{50}},
		{"better once", once(29, 10), []int{60}},
		{"better after it was said", once(50, 200), []int{30, 81}},
		{"it works again", func(i int) *goruntime.GC { return reading(100, true, 5, time.Duration(max(i-45, 0))*every) }, []int{76}},
	} {
		j := judge{Times: DefaultTimes}
		var got []int
		for i := range 100 {
			if j.add(time.Unix(int64(i), 0), c.at(i)) {
				got = append(got, i)
			}
		}
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] || len(got) > 1 && got[1] != c.want[1] {
			t.Errorf("%s: at %v, want %v", c.name, got, c.want)
		}
	}
	// Readings that come late say less.
	j := judge{Times: DefaultTimes}
	for i := range fewest {
		if got := j.add(time.Unix(int64(100*i), 0), reading(100, true, 5, time.Duration(i)*time.Hour)); got != (i == fewest-1) {
			t.Errorf("reading %d: %v", i, got)
		}
	}
}

func TestParseThen(t *testing.T) {
	for text, want := range map[string]Then{
		"term": {Term: true}, "raise=64MiB": {Bytes: 64 << 20}, "raise=10%": {Percent: 10}, "raise=1B": {Bytes: 1},
	} {
		got, err := ParseThen(text)
		if got != want || err != nil || got.String() != text {
			t.Errorf("%s: %+v, %v, %s", text, got, err, got)
		}
	}
	for _, text := range []string{"", "kill", "raise", "raise=", "raise=0", "raise=0%", "raise=%", "raise=-1%", "raise=much", "TERM", "term=1", "raise=64MiB,term",
		"raise=9223372036854775808", "raise=70000%"} {
		if got, err := ParseThen(text); err == nil || got != (Then{}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if b := (Then{Percent: 10}).bound(640 << 20); b != 64<<20 {
		t.Error(b)
	}
}
