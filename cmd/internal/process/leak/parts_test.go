package leak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/waterfall"
)

const mib = 1 << 20

// seen are the findings, in words, each once.
func seen(r *Report) (out []string) {
	for _, f := range r.Found {
		text := fmt.Sprintf("%s %s%s", f.Kind, f.Func, f.Title)
		if f.Name != "" {
			text += " " + f.Name
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// fall is a reading of a Go program in MiB: its runtime was read, or its heap is one part.
func fall(read bool, parts map[waterfall.Kind]float64, named ...waterfall.Share) *waterfall.Waterfall {
	f := &waterfall.Waterfall{}
	if read {
		f.GC = &waterfall.GC{}
	}
	for k, v := range parts {
		f.Parts = append(f.Parts, waterfall.Part{Kind: k, Bytes: int64(v * mib)})
	}
	if len(named) > 0 {
		part := waterfall.Part{Kind: waterfall.Named, Of: named}
		for _, s := range named {
			part.Bytes += int64(s.Bytes)
		}
		f.Parts = append(f.Parts, part)
	}
	return f
}

// watchFalls judges readings, one a second; nil is one of which nothing is known.
func watchFalls(profile bool, n int, at func(i int) *waterfall.Waterfall) *Report {
	w := &watcher{Report: &Report{}, goProgram: true, profile: profile}
	w.cycles = n
	for i := range n {
		w.Readings++
		if f := at(i); f != nil {
			if f.At = time.Unix(int64(i), 0); f.GC != nil {
				live := f.Part(waterfall.Live).Bytes
				f.GC.Cycles, f.GC.Last, f.GC.Marked, f.GC.Objects = uint32(i+1), f.At, uint64(live), uint64(live)
			}
			w.readParts(float64(i), f)
		}
	}
	w.judge(context.Background())
	return w.Report
}

// TestNamed: memory to which the program gave a name can leak as other memory.
func TestNamed(t *testing.T) {
	r := watchFalls(true, 60, func(i int) *waterfall.Waterfall {
		return fall(true, map[waterfall.Kind]float64{waterfall.Live: 10},
			waterfall.Share{Name: "[anon:steady]", Bytes: 100 * mib}, waterfall.Share{Name: "[anon:leak]", Bytes: uint64(i) * mib})
	})
	if got := strings.Join(seen(r), ", "); got != "memory anonymous memory with a name [anon:leak]" || r.Found[0].Slope < 0.9*mib || *r.Parts != 7 || len(r.Notes) > 0 {
		t.Errorf("%q: %+v", got, r)
	}
	r = watchFalls(true, 60, func(i int) *waterfall.Waterfall {
		return fall(true, map[waterfall.Kind]float64{waterfall.Live: 10}, waterfall.Share{Name: "[anon:leak]", Bytes: uint64(10*mib + i%7*mib)})
	})
	if len(r.Found) > 0 {
		t.Errorf("%q", seen(r))
	}
}

// TestUnread: what could not be read in some readings is not 0 in them, nor is what other
// parts have for that reason growth.
func TestUnread(t *testing.T) {
	for _, profile := range []bool{true, false} {
		for _, c := range []struct {
			name string
			read func(i int) bool
			want string
		}{
			{"at first", func(i int) bool { return i > 20 }, ""},
			{"now and then", func(i int) bool { return i%5 != 0 }, ""},
			{"at the end", func(i int) bool { return i < 40 }, ""},
			{"never", func(int) bool { return false }, ""},
			{"always", func(int) bool { return true }, ""},
		} {
			steady := func(i int) *waterfall.Waterfall {
				level := 100 + rand.New(rand.NewPCG(uint64(i), 1)).Float64()
				if c.read(i) {
					return fall(true, map[waterfall.Kind]float64{waterfall.Live: level, waterfall.Stacks: 20, waterfall.Other: 5})
				}
				return fall(false, map[waterfall.Kind]float64{waterfall.Heap: 30 + level, waterfall.Other: 35})
			}
			if r := watchFalls(profile, 60, steady); len(r.Found) > 0 {
				t.Errorf("%s, profile %v: %q of what does not grow", c.name, profile, seen(r))
			}
			leaks := func(i int) *waterfall.Waterfall {
				v := float64(i)
				if c.read(i) {
					return fall(true, map[waterfall.Kind]float64{waterfall.Live: 100 + v, waterfall.Stacks: 20 + v, waterfall.Other: 5})
				}
				return fall(false, map[waterfall.Kind]float64{waterfall.Heap: 130 + 2*v, waterfall.Other: 35})
			}
			want := "memory live heap after the last GC, memory stacks of goroutines"
			if c.name == "never" {
				want = map[bool]string{true: "", false: "memory Go heap"}[profile]
			}
			r := watchFalls(profile, 60, leaks)
			if got := strings.Join(seen(r), ", "); got != want {
				t.Errorf("%s, profile %v: %q grows, want %q", c.name, profile, got, want)
			}
			if mixed := c.name != "never" && c.name != "always"; mixed != strings.Contains(strings.Join(r.Notes, "\n"), " of 60 did not say what the others did") {
				t.Errorf("%s: notes %q", c.name, r.Notes)
			}
		}
	}
}

// TestUnreadable: readings of which nothing is known are none.
func TestUnreadable(t *testing.T) {
	r := watchFalls(true, 60, func(i int) *waterfall.Waterfall {
		if i%2 == 0 {
			return nil
		}
		return fall(true, map[waterfall.Kind]float64{waterfall.Data: float64(i)})
	})
	if got := strings.Join(seen(r), ", "); got != "memory variables of the program (data, bss)" || r.Found[0].From < mib {
		t.Errorf("%q: %+v", got, r.Found)
	}
	if r = watchFalls(true, 60, func(int) *waterfall.Waterfall { return nil }); r.Parts != nil || r.Starts != nil || len(r.Found) > 0 {
		t.Errorf("%+v", r)
	}
	r = watchFalls(true, 60, func(i int) *waterfall.Waterfall {
		if i >= Least-1 {
			return nil
		}
		return fall(true, nil)
	})
	if want := fmt.Sprintf("only %d readings of the parts of its memory", Least-1); !strings.Contains(strings.Join(r.Notes, "\n"), want) {
		t.Errorf("notes %q", r.Notes)
	}
}

// TestFullArenas: a leak through malloc is found though its full arenas are seen as other
// memory, and is said once.
func TestFullArenas(t *testing.T) {
	for rate, want := range map[float64]string{0.5: "memory " + waterfall.Malloc.Title(), 5: "memory " + mallocOrTitle} {
		r := watchFalls(true, 60, func(i int) *waterfall.Waterfall {
			n := rate * float64(i)
			full := float64(int(n/64)) * 64
			return fall(true, map[waterfall.Kind]float64{waterfall.Malloc: n - full, waterfall.Other: full + 1})
		})
		if got := strings.Join(seen(r), ", "); got != want || *r.Parts != 7 {
			t.Errorf("%v MiB a second: %q grows, want %q", rate, got, want)
		}
	}
}

// TestGrewMost: of a name that was not listed it is not known that it had nothing.
func TestGrewMost(t *testing.T) {
	share := func(name string, n uint64) waterfall.Share { return waterfall.Share{Name: name, Bytes: n} }
	for _, c := range []struct {
		before, now []waterfall.Share
		want        string
	}{
		{nil, nil, ""},
		{nil, []waterfall.Share{share("[anon:a]", 1)}, "[anon:a]"},
		{[]waterfall.Share{share("[anon:a]", 9), share("[anon:b]", 5)}, []waterfall.Share{share("[anon:a]", 10), share("[anon:b]", 8)}, "[anon:b]"},
		{[]waterfall.Share{share("[anon:a]", 9)}, []waterfall.Share{share("[anon:a]", 9)}, ""},
		{[]waterfall.Share{share("[anon:a]", 9), share("[anon:b]", 5), share(waterfall.Others, 100)},
			[]waterfall.Share{share("[anon:a]", 12), share("[anon:c]", 6), share(waterfall.Others, 90)}, "[anon:a]"},
		{[]waterfall.Share{share("[anon:a]", 9), share(waterfall.Others, 100)}, []waterfall.Share{share("[anon:a]", 12), share(waterfall.Others, 190)}, ""},
	} {
		if got := grewMost(c.before, c.now); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.before, c.now, got, c.want)
		}
	}
}

// TestHeapNotJudged: without enough GC cycles a growth of the Go heap is neither found nor
// denied, what would settle it is said, and that of RSS is.
func TestHeapNotJudged(t *testing.T) {
	rises := func(every int, read bool) func(int) *waterfall.Waterfall {
		return func(i int) *waterfall.Waterfall {
			kind := waterfall.Heap
			if read {
				kind = waterfall.Since
			}
			f := fall(read, map[waterfall.Kind]float64{kind: float64(10 * i)})
			f.At = time.Unix(int64(i), 0)
			if f.RSS = uint64(100+10*i) * mib; read {
				n := i / every
				f.GC.Cycles, f.GC.Last, f.GC.Percent = 3+uint32(n), time.Unix(int64(n*every), 0), 100
				f.GC.Marked = uint64(100+n%2*50) * mib
			}
			return f
		}
	}
	off := func(every int) func(i int) *waterfall.Waterfall {
		return func(i int) *waterfall.Waterfall {
			f := rises(every, true)(i)
			f.GC.Percent = -1
			return f
		}
	}
	steady := func(i int) *waterfall.Waterfall {
		f := rises(10, true)(i)
		f.GC.Marked = 100 * mib
		return f
	}
	for _, c := range []struct {
		name   string
		goes   bool
		at     func(int) *waterfall.Waterfall
		judged bool
		why    string
		longer time.Duration
	}{
		{"3 cycles", true, rises(20, true), false, "3 of 5 GC cycles seen", 3 * time.Minute},
		{"1 cycle", true, rises(60, true), false, "1 of 5 GC cycles seen; one is forced every 2m", 8 * time.Minute},
		{"6 cycles", true, rises(10, true), false, "6 GC cycles seen; a heap that rises and falls needs 12", 4 * time.Minute},
		{"GOGC=off", true, off(60), false, "1 of 5 GC cycles seen; GOGC is off, so no GC cycle is forced", 0},
		{"GOGC=off, with cycles", true, off(20), false, "3 of 5 GC cycles seen", 3 * time.Minute},
		{"6 cycles of one level", true, steady, true, "", 0},
		{"30 cycles", true, rises(2, true), true, "", 0},
		{"runtime not read", true, rises(2, false), true, "", 0},
		{"not Go", false, rises(2, false), false, "", 0},
	} {
		w := &watcher{Report: &Report{}, goProgram: c.goes}
		for i := range 60 {
			w.Readings++
			w.readParts(float64(i), c.at(i))
		}
		w.judge(context.Background())
		if w.HeapJudged != c.judged || w.HeapUnjudged != c.why || w.Longer != c.longer {
			t.Errorf("%s: judged %v, %q, %v; want %q, %v", c.name, w.HeapJudged, w.HeapUnjudged, w.Longer, c.why, c.longer)
		}
		if r := w.RSS; r == nil || r.History.Points[0].RSS != 100*mib || r.History.Points[59].RSS != 690*mib || r.Growth == nil || r.Growth.Over != 59*time.Second || r.Growth.RSS.Slope != 600*mib {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestRareCycles: a heap that grows by 45 MiB a minute at GOGC=100 has few GC cycles, at
// distances that double, and the line that leaks is named all the same.
func TestRareCycles(t *testing.T) {
	for _, profile := range []bool{true, false} {
		w := &watcher{Report: &Report{}, goProgram: true, profile: profile, heap: map[string]*series{}, cycles: 6}
		for i := range 60 {
			w.Readings++
			at, rate := float64(5*i), 45.0*mib/60
			last, n := 4.0, 1
			for ; 2*last <= at; n++ {
				last *= 2
			}
			if at < last {
				last, n = 0, 0
			}
			f := fall(true, map[waterfall.Kind]float64{waterfall.Live: 1})
			f.At = time.Unix(int64(5*i), 0)
			f.GC.Cycles, f.GC.Last = uint32(n+1), time.Unix(int64(last), 0)
			f.GC.Marked, f.GC.Objects = uint64(5*mib+rate*last), uint64(5*mib+rate*at)
			before := len(w.live)
			if w.readParts(at, f); profile && len(w.live) > before {
				last /= 2 // a profile is of the cycle before
				for name, bytes := range map[string]float64{"leak": 0.9 * rate * last, "cache": 4 * mib, "little": 0.1 * rate * last} {
					s := add(w.heap, name, at, nil, bytes)
					s.Kind, s.Func = Heap, "main."+name
				}
			}
		}
		w.judge(context.Background())
		want := map[bool]string{true: "heap main.leak", false: "memory live heap after the last GC"}[profile]
		if got := strings.Join(seen(w.Report), ", "); got != want || !w.HeapJudged || w.HeapUnjudged != "" {
			t.Errorf("profile %v, %d GC cycles: %q grows, want %q; %q", profile, len(w.live), got, want, w.HeapUnjudged)
			continue
		}
		share := map[bool]float64{true: 0.9, false: 1}[profile]
		if f := w.Found[0]; f.Slope < share*44*mib/60 || f.Slope > share*46*mib/60 || f.Low > f.Slope || f.High < f.Slope || f.Confidence < 0.99 {
			t.Errorf("profile %v: %+v", profile, f)
		}
	}
}

// TestDecided: a process is watched for longer only while GC cycles will come that tell
// whether its heap grows.
func TestDecided(t *testing.T) {
	for _, c := range []struct {
		name   string
		not    bool // a Go program
		gogc   int
		live   []float64 // MiB, by cycle, each 10% later than the one before
		want   bool
		judged int // looks
	}{
		{"no cycle", false, 100, nil, false, 0},
		{"4 cycles", false, 100, []float64{1, 2, 3, 4}, false, 0},
		{"GOGC=off", false, -1, []float64{1, 2}, true, 0},
		{"not Go", true, 0, nil, true, 0},
		{"one level", false, 100, []float64{50, 50, 50, 50, 50}, true, 1},
		{"up and down", false, 100, []float64{50, 10, 60, 10, 50, 70}, false, 1},
		{"12 cycles", false, 100, []float64{50, 10, 60, 10, 50, 70, 50, 10, 60, 10, 50, 70}, true, 0},
	} {
		w := &watcher{Report: &Report{}, goProgram: !c.not}
		if c.not {
			w.readParts(0, fall(false, nil))
		}
		at := 0.0
		for i, v := range c.live {
			f := fall(true, nil)
			at += 10 * (1 + 0.1*float64(i))
			f.At = time.Unix(1000, 0).Add(time.Duration(at * 1e9))
			f.GC.Cycles, f.GC.Last, f.GC.Marked, f.GC.Objects, f.GC.Percent = uint32(i+1), f.At, uint64(v*mib), uint64(v*mib), c.gogc
			w.readParts(at, f)
		}
		for range 3 { // without a further cycle it is one look
			if got := w.decided(); got != c.want || w.looks != c.judged {
				t.Errorf("%s: %v, %d looks", c.name, got, w.looks)
			}
		}
	}
}

// TestGrowsWhere names the part of memory in which RSS grows.
func TestGrowsWhere(t *testing.T) {
	for want, parts := range map[string]map[waterfall.Kind]float64{
		// What is live and what is not go into one another.
		"Go heap":                      {waterfall.Live: 1, waterfall.Since: 1, waterfall.Other: 0.1},
		waterfall.Other.Title():        {waterfall.Live: 0.1, waterfall.Other: 2},
		"":                             {waterfall.Live: -1, waterfall.Other: -1},
		waterfall.ThreadStacks.Title(): {waterfall.ThreadStacks: 1, waterfall.Stacks: 0.4},
	} {
		r := watchFalls(true, 60, func(i int) *waterfall.Waterfall {
			of, rss := map[waterfall.Kind]float64{}, 0.0
			for k, v := range parts {
				of[k] = 100 + v*float64(i)
				rss += of[k]
			}
			f := fall(true, of)
			f.RSS = uint64(rss * mib)
			return f
		})
		if r.RSS.Part != want || (r.RSS.PartGrowth != nil) != (want != "") {
			t.Errorf("%q (%+v), want %q", r.RSS.Part, r.RSS.PartGrowth, want)
		}
	}
}
