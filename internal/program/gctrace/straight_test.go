package gctrace

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The tests below use the machine before any filter has made it.
func init() { prepareLines() }

// TestStraight checks that following undisturbed lines without a search changes
// nothing: not the text, not the cycles, not the order, wherever a line is
// disturbed, cut or given up.
func TestStraight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		writers := make([]writer, rapid.IntRange(1, 3).Draw(t, "writers"))
		for i := range writers {
			writers[i] = genWriter(t)
		}
		opts := Options{Keep: rapid.Bool().Draw(t, "keep")}
		got, want := newResult(opts), newResult(opts)
		var trace strings.Builder
		for cur := 0; len(writers) > 0; {
			if rapid.IntRange(0, 15).Draw(t, "switch") == 0 {
				cur = rapid.IntRange(0, len(writers)-1).Draw(t, "next")
			}
			if cur %= len(writers); len(writers[cur]) == 0 {
				writers = slices.Delete(writers, cur, cur+1)
				continue
			}
			p := writers[cur][0].data
			writers[cur] = writers[cur][1:]
			if rapid.IntRange(0, 99).Draw(t, "cut") == 0 {
				p = p[:rapid.IntRange(0, len(p)).Draw(t, "at")]
			}
			trace.WriteString(" " + p)
			got.filter.Write([]byte(p))
			if opts.Keep {
				want.filter.emit([]byte(p))
			}
			want.filter.take([]byte(p))
			if got.filter.Held() != want.filter.Held() || got.filter.Begun() != want.filter.Begun() {
				t.Fatalf("held %t and begun %t, want %t and %t\n%s", got.filter.Held(), got.filter.Begun(),
					want.filter.Held(), want.filter.Begun(), &trace)
			}
			if rapid.IntRange(0, 199).Draw(t, "flush") == 0 {
				got.filter.Flush()
				want.filter.Flush()
			}
		}
		got.filter.Flush()
		want.filter.Flush()
		if got.out.String() != want.out.String() {
			t.Fatalf("text:\n got %q\nwant %q\n%s", &got.out, &want.out, &trace)
		}
		if !slices.Equal(got.cycles, want.cycles) || got.filter.taken != want.filter.taken {
			t.Fatalf("cycles:\n got %v\nwant %v\n%s", got.cycles, want.cycles, &trace)
		}
	})
}

// TestWhoseNumber interrupts a line that waits for the number of processors by
// one that waits for its goal, which without a limit has 13 digits: too many for
// the other line, which is not a line of this run with them.
func TestWhoseNumber(t *testing.T) {
	one := fragments("gc 7 @0.021s 5%: 0.15+0.37+0.25 ms clock, 0.30+0.19/0.39/0.60+0.50 ms cpu, 4->4->0 MB, 8532210231535 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)\n")
	two := fragments(sample)
	const toGoal, toProcs = 29, 35
	if one[toGoal] != "8532210231535" || two[toProcs] != "48" {
		t.Fatalf("the fragments are %q and %q", one[toGoal], two[toProcs])
	}
	for _, goalFirst := range []bool{true, false} {
		r := newResult(Options{})
		write := func(parts ...string) {
			for _, p := range parts {
				r.filter.Write([]byte(p))
			}
		}
		write(one[:toGoal]...)
		write(two[:toProcs]...)
		if goalFirst {
			write(one[toGoal], two[toProcs])
		} else {
			write(two[toProcs], one[toGoal])
		}
		write(two[toProcs+1:]...)
		write(one[toGoal+1:]...)
		if r.out.Len() > 0 || len(r.cycles) != 2 || r.cycles[1].Goal != 8532210231535<<20 {
			t.Errorf("goal first: %t: left %q, got %v", goalFirst, &r.out, r.cycles)
		}
	}
}
