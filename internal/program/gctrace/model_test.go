package gctrace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fragments cuts a line into the writes of the runtime.
func fragments(line string) []string {
	var out []string
	s, from := stateStart, 0
	for i := range len(line) {
		to := lines.step(s, line[i])
		if i > from && lines.info[to].frag != lines.info[s].frag {
			out = append(out, line[from:i])
			from = i
		}
		s = to
	}
	return append(out, line[from:])
}

func TestFragments(t *testing.T) {
	got := fragments("gc 12 @0.021s -5%: 0.15+37+0.25 ms clock, 3.0+0.19/0.39/0.60+5.0 ms cpu, 4->4->0 MB, 5 MB goal, 0 MB stacks, 1 MB globals, 48 P (forced)\n")
	want := strings.Split("gc |12| @|0.021|s |-5|%: |0.15|+|37|+|0.25| ms clock, |3.0|+|0.19|/|0.39|/|0.60|+|5.0| ms cpu, |4|->|4|->|0| MB, |5| MB goal, |0| MB stacks, |1| MB globals, |48| P| (forced)|\n", "|")
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	got = fragments("scvg-1: inuse: 4, idle: 58, sys: 63, released: 57, consumed: 6 (MB)\n")
	want = strings.Split("scvg|-1|: inuse: |4|, idle: |58|, sys: |63|, released: |57|, consumed: |6| (MB)\n", "|")
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}

func genDuration(t *rapid.T) time.Duration {
	d := time.Duration(rapid.Uint64Range(0, 1<<rapid.IntRange(1, 34).Draw(t, "bits")).Draw(t, "ns"))
	text := string(appendMillis(nil, d))
	s := scanner{b: []byte(text)}
	return s.millis()
}

func genCycle(t *rapid.T) Cycle {
	mib := func() uint64 { return rapid.Uint64Range(0, 3000).Draw(t, "MiB") << 20 }
	c := Cycle{
		N:              rapid.IntRange(1, 2000).Draw(t, "N"),
		At:             time.Duration(rapid.IntRange(0, 99999).Draw(t, "at")) * time.Millisecond,
		Percent:        rapid.IntRange(0, 60).Draw(t, "percent"),
		SweepTermClock: genDuration(t), MarkClock: genDuration(t), MarkTermClock: genDuration(t),
		SweepTermCPU: genDuration(t), AssistCPU: genDuration(t), BackgroundCPU: genDuration(t),
		IdleCPU: genDuration(t), MarkTermCPU: genDuration(t),
		HeapStart: mib(), HeapEnd: mib(), HeapLive: mib(), Goal: mib(),
		HasStacks: rapid.Bool().Draw(t, "stacks"),
		Procs:     rapid.IntRange(1, 64).Draw(t, "procs"),
		Forced:    rapid.Bool().Draw(t, "forced"),
		LeakCheck: rapid.IntRange(0, 9).Draw(t, "leak") == 0,
	}
	if c.HasStacks {
		c.Stacks, c.Globals = mib(), mib()
	}
	return c
}

// genLine returns a trace line with its newline; the cycle is nil for the scavenger.
func genLine(t *rapid.T) (string, *Cycle) {
	if rapid.IntRange(0, 9).Draw(t, "scavenger") == 0 {
		k := rapid.SampledFrom([]string{"scvg", "scvg0", "scvg-1", "scvg31"}).Draw(t, "k")
		return k + rapid.SampledFrom([]string{
			": 5 MB released\n", ": inuse: 4, idle: 58, sys: 63, released: 57, consumed: 6 (MB)\n",
		}).Draw(t, "scvg"), nil
	}
	c := genCycle(t)
	return c.String() + "\n", &c
}

// genText returns text that a program might print in one write.
func genText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"hello, world\n", "\n", "5", "12", "0", "0.15", "+", "->", " ", "  100\t  123 ns/op\n",
			"BenchmarkX-2   \t", "gc is fun\n", "gc 12 apples\n", "the gc 5\n", "g", "logging", "magic", "s ", "scvg\n",
			"scvg5 gc 1 @\n", " MB, ", "12 MB goal\n", "gc 1 @0.021s 0%: done\n", "x: 5%", "gcc -c x.c\n", "ms", "P\n",
		}),
		rapid.StringMatching(`[a-z 0-9+.%\n]{1,40}`),
		rapid.StringN(1, 30, 200),
	).Draw(t, "text")
}

type packet struct {
	data  string
	gc    bool
	piece int    // of its line, from 1
	cycle *Cycle // of the line that it completes
}

// writer is a process of the model: packets in order.
type writer []packet

func genWriter(t *rapid.T) writer {
	var w writer
	for range rapid.IntRange(0, 8).Draw(t, "items") {
		if rapid.Bool().Draw(t, "trace") {
			line, c := genLine(t)
			piece := 0
			add := func(data string) {
				piece++
				w = append(w, packet{data: data, gc: true, piece: piece})
			}
			for _, f := range fragments(line) {
				if rapid.Bool().Draw(t, "1.26") && f == "%: " {
					add("%")
					add(": ")
					continue
				}
				add(f)
			}
			w[len(w)-1].cycle = c
		} else {
			w = append(w, packet{data: genText(t)})
		}
	}
	return w
}

// die lets the process end while it prints a line, of which enough is there to know it.
// Another thread may still print text, but no line follows.
func (w writer) die(t *rapid.T) writer {
	var at []int
	for i, p := range w {
		if p.gc && p.piece >= proof && p.data[len(p.data)-1] != '\n' {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return w
	}
	end := rapid.SampledFrom(at).Draw(t, "end")
	rest := slices.DeleteFunc(slices.Clone(w[end+1:]), func(p packet) bool { return p.gc })
	return append(slices.Clone(w[:end+1]), rest...)
}

// cycles returns those of the complete lines.
func (w writer) cycles() (all []Cycle) {
	for _, p := range w {
		if p.cycle != nil {
			all = append(all, *p.cycle)
		}
	}
	return all
}

// ambiguous reports whether text fits one of the lines open at states, or begins
// a line that may be interrupted: then there are two readings of equal worth.
func ambiguous(text string, states []state) bool {
	for _, s := range append([]state{stateStart}, states...) {
		before := s
		i := 0
		for i < len(text) {
			to := lines.step(s, text[i])
			if to == stateNone || i == 0 && lines.info[before].num && lines.info[to].num {
				break
			}
			s = to
			i++
		}
		if i == len(text) && (before != stateStart || lines.info[s].edge) {
			return true
		}
	}
	// A beginning at the very end, such as "gc 5", is open until more arrives.
	i := nextStart([]byte(text), 0, false, true)
	return i < len(text) && i > 0 && ambiguous(text[i:], nil)
}

type result struct {
	out    bytes.Buffer
	cycles []Cycle
	filter *Filter
}

func newResult(opts Options) *result {
	r := new(result)
	opts.OnCycle = func(c Cycle) { r.cycles = append(r.cycles, c) }
	r.filter = NewFilter(&r.out, &opts)
	return r
}

func sortedN(cycles []Cycle) []int {
	var ns []int
	for _, c := range cycles {
		ns = append(ns, c.N)
	}
	slices.Sort(ns)
	return ns
}

// testPackets lets writers write in a random order and checks that their text
// comes out in that order, all their lines are counted, and nothing is left of those
// that they did not live to complete.
func testPackets(t *rapid.T, maxWriters int) {
	var want []Cycle
	// Where lines of several processes wait for the same, one may be taken for another.
	contested := false
	writers := make([]writer, rapid.IntRange(1, maxWriters).Draw(t, "writers"))
	for i := range writers {
		writers[i] = genWriter(t)
		if rapid.Bool().Draw(t, "dies") {
			writers[i] = writers[i].die(t)
			contested = len(writers) > 1
		}
		want = append(want, writers[i].cycles()...)
	}
	open := make([]state, len(writers))
	before := make([]state, len(writers)) // the state before the last number
	r := newResult(Options{})
	var text, trace strings.Builder
	cur := 0
	for {
		var ready []int
		for i, w := range writers {
			if len(w) > 0 {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			break
		}
		// Mostly a writer goes on: processes run for a while.
		if len(writers[cur]) == 0 || rapid.IntRange(0, 3).Draw(t, "switch") == 0 {
			cur = rapid.SampledFrom(ready).Draw(t, "next")
		}
		p := writers[cur][0]
		writers[cur] = writers[cur][1:]
		if p.gc {
			s := open[cur]
			if s == stateNone {
				s = stateStart
			}
			if waiting(open, cur) {
				contested = true
			}
			before[cur] = stateNone
			if lines.info[lines.step(s, p.data[0])].num {
				before[cur] = s // text behind the number may as well be the number
			}
			for i := range len(p.data) {
				s = lines.step(s, p.data[i])
			}
			if lines.info[s].done {
				s = stateNone
			}
			open[cur] = s
		} else {
			var states []state
			candidates := slices.Concat(open, before)
			if len(writers) > 1 {
				// With numbers contested, a line may be thought to be anywhere.
				candidates = edges()
			}
			for _, s := range candidates {
				if s != stateNone {
					states = append(states, s)
				}
			}
			if ambiguous(p.data, states) || len(open) > 1 && strings.HasPrefix(p.data, "gc 1 @") {
				continue
			}
			text.WriteString(p.data)
		}
		fmt.Fprintf(&trace, "%q ", p.data)
		if n, err := r.filter.Write([]byte(p.data)); n != len(p.data) || err != nil {
			t.Fatalf("Write: got %d, %v", n, err)
		}
	}
	if err := r.filter.Flush(); err != nil {
		t.Fatal(err)
	}
	if r.out.String() != text.String() {
		t.Fatalf("text:\n got %q\nwant %q\n%s", r.out.String(), text.String(), trace.String())
	}
	if len(r.cycles) != len(want) {
		t.Fatalf("got %d cycles, want %d\n%s", len(r.cycles), len(want), trace.String())
	}
	if !contested && !slices.Equal(sortedN(r.cycles), sortedN(want)) {
		t.Fatalf("cycles: got %v\nwant %v\n%s", sortedN(r.cycles), sortedN(want), trace.String())
	}
}

// waiting reports whether another line than that of cur waits for a number:
// then a number may be attributed to either.
func waiting(open []state, cur int) bool {
	for i, s := range open {
		if i != cur && s != stateNone && (lines.step(s, '1') != stateNone) {
			return true
		}
	}
	return false
}

func TestPackets(t *testing.T) {
	t.Run("one", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { testPackets(t, 1) }) })
	t.Run("four", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { testPackets(t, 4) }) })
}

// TestCuts feeds a stream with whole lines at arbitrary places, cut anywhere.
func TestCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newResult(Options{})
		var in, text strings.Builder
		var want []Cycle
		for range rapid.IntRange(0, 12).Draw(t, "items") {
			if rapid.Bool().Draw(t, "trace") {
				line, c := genLine(t)
				if c != nil {
					want = append(want, *c)
				}
				in.WriteString(line)
				continue
			}
			s := genText(t)
			// Text ending in "gc 5" and the like is open for ever, and after a long
			// beginning of a line, cut anywhere, the next line may complete it.
			if strings.HasPrefix(s, "gc 1 @") || ambiguous(s, nil) || ambiguous(text.String()+s, nil) {
				continue
			}
			in.WriteString(s)
			text.WriteString(s)
		}
		maxCut := rapid.SampledFrom([]int{1, 2, 5, 40, 400, 5000}).Draw(t, "max cut")
		rest := in.String()
		var cuts []string
		for len(rest) > 0 {
			n := min(len(rest), rapid.IntRange(1, maxCut).Draw(t, "cut"))
			cuts = append(cuts, rest[:n])
			r.filter.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		r.filter.Flush()
		if r.out.String() != text.String() {
			t.Fatalf("text:\n got %q\nwant %q\n%q", r.out.String(), text.String(), cuts)
		}
		if !slices.Equal(r.cycles, want) {
			t.Fatalf("cycles:\n got %v\nwant %v\n%q", r.cycles, want, cuts)
		}
	})
}
