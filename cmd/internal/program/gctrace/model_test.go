package gctrace

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fragments cuts a line into the writes of the runtime.
func fragments(line string) []string {
	var out []string
	prepareLines()
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

// TestPackets lets a process write text while its runtime prints lines: text comes out as it
// went in, and each line is counted and gone, whatever of the text stands between its pieces.
func TestPackets(t *testing.T) {
	prepareLines()
	rapid.Check(t, func(t *rapid.T) {
		r := newResult(Options{})
		var text strings.Builder
		var want []Cycle
		say := func() {
			s := genText(t)
			if s == "" || isFragment([]byte(s)) {
				return
			}
			text.WriteString(s)
			r.filter.Write([]byte(s))
		}
		for range rapid.IntRange(0, 8).Draw(t, "items") {
			say()
			line, c := genLine(t)
			if c != nil {
				want = append(want, *c)
			}
			for _, f := range fragments(line) {
				r.filter.Write([]byte(f))
				if rapid.IntRange(0, 9).Draw(t, "between") == 0 && f[len(f)-1] != '\n' {
					say()
				}
			}
		}
		r.filter.Flush()
		if r.out.String() != text.String() || !slices.Equal(r.cycles, want) || r.filter.Mixed() {
			t.Fatalf("text:\n got %q\nwant %q\ncycles: got %v, want %v", r.out.String(), text.String(), r.cycles, want)
		}
	})
}

// TestPieces puts writes that the runtime could have made itself at every place among the
// pieces of a line. The text comes out as it is, or with the whole line where it was.
func TestPieces(t *testing.T) {
	prepareLines()
	line := fragments(strings.Replace(sample, "\n", " (forced)\n", 1))
	for _, text := range [][]string{{"112", "\n", "113", "\n"}, {"\n", "a\n", "\n", "b\n"}, {"x", "\n", "\n", "y\n"}, {" P", "\n", "c", "\n"}, {"0.1", "+", "s ", "1"}} {
		plain := strings.Join(text, "")
		var at [4]int
		n := len(line) + 1
		for at[0] = range n {
			for at[1] = at[0]; at[1] < n; at[1]++ {
				for at[2] = at[1]; at[2] < n; at[2]++ {
					for at[3] = at[2]; at[3] < n; at[3] += 3 {
						r := newResult(Options{})
						var in strings.Builder
						k := 0
						for i := range n {
							for ; k < len(text) && at[k] == i; k++ {
								in.WriteString(text[k])
								r.filter.Write([]byte(text[k]))
							}
							if i < len(line) {
								in.WriteString(line[i])
								r.filter.Write([]byte(line[i]))
							}
						}
						for ; k < len(text); k++ {
							in.WriteString(text[k])
							r.filter.Write([]byte(text[k]))
						}
						r.filter.End()
						if got := r.out.String(); got != plain && got != in.String() {
							t.Fatalf("%q at %v: got %q", text, at, got)
						}
						if len(r.cycles) == 0 && !r.filter.Mixed() {
							t.Fatalf("%q at %v: a line is not counted, and nothing says so", text, at)
						}
					}
				}
			}
		}
	}
}

// A line that its process did not live to complete is not left in the text, and one of
// another process that comes in between shows where lines are not counted.
func TestUnfinished(t *testing.T) {
	prepareLines()
	line := fragments(sample)
	for cut := 1; cut < len(line); cut++ {
		r := newResult(Options{})
		for _, f := range append(slices.Clone(line[:cut]), "bye\n") {
			r.filter.Write([]byte(f))
		}
		want := "bye\n"
		if r.filter.End(); cut < proof {
			want = strings.Join(line[:cut], "") + want
		}
		if r.out.String() != want || len(r.cycles) > 0 {
			t.Errorf("cut at %d: got %q, want %q", cut, r.out.String(), want)
		}
		r = newResult(Options{})
		for _, f := range append(slices.Clone(line[:cut]), line...) {
			r.filter.Write([]byte(f))
		}
		var cycles int
		want, cycles = strings.Join(line[:cut], ""), 1
		if cut < proof {
			want, cycles = want+sample, 0
		}
		if r.filter.End(); len(r.cycles) != cycles || !r.filter.Mixed() || r.out.String() != want {
			t.Errorf("cut at %d by another line: %d cycles, mixed %t, %q", cut, len(r.cycles), r.filter.Mixed(), r.out.String())
		}
	}
	r := newResult(Options{Traced: true})
	r.filter.Write([]byte("gc "))
	r.filter.Write([]byte("1"))
	if r.filter.End(); r.out.Len() > 0 {
		t.Errorf("left %q of the first line", r.out.String())
	}
}
