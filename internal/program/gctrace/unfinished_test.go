package gctrace

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// traceLine returns the line of a cycle in one of the forms.
func traceLine(form, n int) string {
	at := fmt.Sprintf("%d.%03d", n/100, n%100*10)
	return []string{
		fmt.Sprintf("gc %d @%ss 3%%: 0.15+0.37+0.25 ms clock, 3.0+0.19/0.39/0.60+5.0 ms cpu, 4->4->0 MB, 5 MB goal, 0 MB stacks, 1 MB globals, 48 P (forced)\n", n, at),
		fmt.Sprintf("gc %d @%ss -3%% (checking for goroutine leaks): 0+12+0.025 ms clock, 0+0/0/0+0 ms cpu, 14->15->9 MB, 16 MB goal, 0 MB stacks, 1 MB globals, 2 P\n", n, at),
		fmt.Sprintf("gc %d @%ss 0%%: 0.15+0.37+0.25 ms clock, 3.0+0.19/0.39/0.60+5.0 ms cpu, 4->4->0 MB, 5 MB goal, 4 P\n", n, at),
	}[form]
}

const forms = 3

// What follows a line that its process did not live to complete: packets, those of
// trace lines marked by their newline or by being short.
func followers() map[string]struct{ packets, text []string } {
	return map[string]struct{ packets, text []string }{
		"nothing":           {nil, nil},
		"text":              {[]string{"ok  \tprogs/bench\t0.075s\n"}, []string{"ok  \tprogs/bench\t0.075s\n"}},
		"text of a thread":  {[]string{"bye\n", "exit status 1"}, []string{"bye\n", "exit status 1"}},
		"another process":   {append(fragments(traceLine(0, 1)), "ok\n"), []string{"ok\n"}},
		"both":              {append(append([]string{"a\n", "b"}, fragments(traceLine(0, 1))...), "c"), []string{"a\n", "b", "c"}},
		"text, as if alike": {[]string{"the gc took 5 ms\n", "100 ns/op\n"}, []string{"the gc took 5 ms\n", "100 ns/op\n"}},
	}
}

// TestUnfinished cuts lines off between any two of the runtime's writes: nothing of the
// line is left in the text, and nothing of the text is lost.
func TestUnfinished(t *testing.T) {
	for form := range forms {
		line := fragments(traceLine(form, 12))
		for cut := 1; cut < len(line); cut++ {
			for name, after := range followers() {
				for _, before := range []bool{true, false} { // the process has printed lines before
					r := newResult(Options{})
					write := func(parts ...string) {
						for _, p := range parts {
							r.filter.Write([]byte(p))
						}
					}
					want := "hello\n"
					write("hello\n")
					cycles := 0
					if before {
						write(fragments(traceLine(form, 11))...)
						cycles++
					}
					write(line[:cut]...)
					write(after.packets...)
					r.filter.Flush()
					other := name == "another process" || name == "both"
					if !before && cut < proof {
						if other {
							continue // whose number is whose?
						}
						want += strings.Join(line[:cut], "") // it may be text
					}
					want += strings.Join(after.text, "")
					if other {
						cycles++
					}
					if r.out.String() != want || len(r.cycles) != cycles {
						t.Errorf("form %d, cut after %q, then %s, lines before: %t: got %q and %d cycles, want %q and %d",
							form, line[:cut], name, before, r.out.String(), len(r.cycles), want, cycles)
					}
				}
			}
		}
	}
}

// TestUnfinishedBehindRelay cuts lines off at any byte, in one chunk with what was before
// and comes after. What is text stays, in its order. What there is of the line is dropped
// if it is as much as its time.
func TestUnfinishedBehindRelay(t *testing.T) {
	for form := range forms {
		line := traceLine(form, 12)
		known := strings.Index(line, "s ") // behind the time
		edges := map[int]bool{}
		for i, at := 0, 0; i < len(fragments(line)); i++ {
			at += len(fragments(line)[i])
			edges[at] = true
		}
		for cut := 1; cut < len(line); cut++ {
			for _, after := range []string{"", "ok  \tprogs/bench\t0.08s\n", "bye\nexit status 1"} {
				r := newResult(Options{})
				before := "hello\n"
				r.filter.Write([]byte(before + traceLine(form, 10) + traceLine(form, 11) + line[:cut] + after))
				r.filter.Flush()
				got := r.out.String()
				if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) || len(got) < len(before)+len(after) {
					t.Errorf("form %d, %q and then %q: text is lost: %q", form, line[:cut], after, got)
					continue
				}
				left := got[len(before) : len(got)-len(after)]
				// Within a write of the runtime only something else cuts: that part may stay.
				if left != "" && left != line[:cut] && (edges[cut] || !strings.HasSuffix(line[:cut], left)) {
					t.Errorf("form %d, %q and then %q: a part is left: %q", form, line[:cut], after, left)
				}
				if left != "" && cut >= known && (after == "" || edges[cut]) {
					t.Errorf("form %d, %q and then %q: it is left: %q", form, line[:cut], after, left)
				}
				if len(r.cycles) != 2 {
					t.Errorf("form %d, %q and then %q: %d cycles", form, line[:cut], after, len(r.cycles))
				}
			}
		}
	}
}

// TestLooksUnfinished has text that begins like a line: whatever has not been written as
// the runtime does, or does not fit the lines before, stays.
func TestLooksUnfinished(t *testing.T) {
	now := func() time.Duration { return time.Second }
	for name, c := range map[string]struct {
		in   []string
		want string
	}{
		"in one write":                   {[]string{"gc 1 @0.021s 0%: "}, "gc 1 @0.021s 0%: "},
		"after a line, in one write":     {append(fragments(traceLine(0, 11)), "gc 12 @0.121s 0%: "), "gc 12 @0.121s 0%: "},
		"a log of another run":           {[]string{traceLine(0, 11), "gc 40 @0.900s 0%: 0.1"}, "gc 40 @0.900s 0%: 0.1"},
		"a log, from before":             {[]string{traceLine(0, 11), "gc 12 @0.021s 0%: 0.1"}, "gc 12 @0.021s 0%: 0.1"},
		"from the future":                {[]string{"gc ", "12", " @", "7.500", "s "}, "gc 12 @7.500s "},
		"from the future, behind relay":  {[]string{traceLine(0, 11), "gc 12 @7.500s "}, "gc 12 @7.500s "},
		"two words in two writes":        {[]string{"gc ", "12"}, "gc 12"},
		"the last word":                  {append(fragments(traceLine(0, 11)), "magic"), "magic"},
		"another number":                 {append(fragments(traceLine(0, 11)), "gc ", "700"), "gc 700"},
		"a word that the scavenger had":  {append(fragments(traceLine(0, 11)), "scvg"), "scvg"},
		"cut within a number":            {append(fragments(traceLine(0, 11)), "gc 12 @0.0"), "gc 12 @0.0"},
		"as the runtime, but for a word": {append(fragments(traceLine(0, 11)), "gc ", "12", " @ "), "gc 12 @ "},
	} {
		r := newResult(Options{Elapsed: now})
		for _, p := range c.in {
			r.filter.Write([]byte(p))
		}
		r.filter.Flush()
		if r.out.String() != c.want {
			t.Errorf("%s: got %q, want %q", name, r.out.String(), c.want)
		}
	}
}

// TestUnfinishedFirst ends a program, asked for the trace, within the first two writes of
// its first line.
func TestUnfinishedFirst(t *testing.T) {
	for _, c := range []struct {
		name    string
		packets []string
		options Options
		quiet   bool // the stream does not end, it is quiet
		want    string
	}{
		{"one write", []string{"gc "}, Options{Traced: true}, false, ""},
		{"two", []string{"gc ", "1"}, Options{Traced: true}, false, ""},
		{"behind text", []string{"hello\n", "gc ", "1"}, Options{Traced: true}, false, "hello\n"},
		{"behind a beginning", []string{"hello", "gc "}, Options{Traced: true}, false, "hello"},
		{"not asked", []string{"gc ", "1"}, Options{}, false, "gc 1"},
		{"quiet", []string{"gc ", "1"}, Options{Traced: true}, true, "gc 1"},
		{"in one write", []string{"gc 1"}, Options{Traced: true}, false, "gc 1"},
		{"not the first", []string{"gc ", "2"}, Options{Traced: true}, false, "gc 2"},
		{"text follows", []string{"gc ", "1", " done\n"}, Options{Traced: true}, false, "gc 1 done\n"},
		{"a word", []string{"gc ", "of"}, Options{Traced: true}, false, "gc of"},
		{"kept", []string{"gc ", "1"}, Options{Traced: true, Keep: true}, false, "gc 1"},
	} {
		r := newResult(c.options)
		for _, p := range c.packets {
			r.filter.Write([]byte(p))
		}
		if c.quiet {
			r.filter.Flush()
		}
		r.filter.End()
		if r.out.String() != c.want {
			t.Errorf("%s: got %q, want %q", c.name, r.out.String(), c.want)
		}
	}
}

// TestUnfinishedAmongMany prints text after an unfinished line for so long that the filter
// must give the line up while the stream goes on.
func TestUnfinishedAmongMany(t *testing.T) {
	r := newResult(Options{})
	for _, p := range append(fragments(traceLine(0, 1)), fragments(traceLine(0, 2))[:9]...) {
		r.filter.Write([]byte(p))
	}
	want := ""
	for i := range 4000 {
		text := fmt.Sprintf("this is line %d of the text\n", i)
		if i%10 == 0 {
			for _, p := range fragments(traceLine(1, i/10+1)) {
				r.filter.Write([]byte(p))
			}
		}
		r.filter.Write([]byte(text))
		want += text
	}
	if r.out.Len() == 0 || len(r.filter.held) > maxHeld {
		t.Errorf("%d bytes passed on, %d held", r.out.Len(), len(r.filter.held))
	}
	r.filter.Flush()
	if r.out.String() != want || len(r.cycles) != 401 {
		t.Errorf("text intact: %t, %d bytes of %d; %d cycles", r.out.String() == want, r.out.Len(), len(want), len(r.cycles))
	}
	// The same kept.
	k := newResult(Options{Keep: true})
	for _, p := range fragments(traceLine(0, 2))[:9] {
		k.filter.Write([]byte(p))
	}
	k.filter.Flush()
	if got := k.out.String(); got != strings.Join(fragments(traceLine(0, 2))[:9], "") {
		t.Errorf("kept: %q", got)
	}
}

// FuzzUnfinished mixes text with lines of which one is cut off: the text comes out as it
// went in.
func FuzzUnfinished(f *testing.F) {
	f.Add("hello\n", "bye\n", uint64(1))
	f.Add("x: 5%\n", "100\t 123 ns/op\n", uint64(99))
	f.Add("", "gc is fun\n", uint64(7))
	f.Fuzz(func(t *testing.T, one, two string, seed uint64) {
		for _, text := range []string{one, two} {
			if len(text) > 500 || text != "" && ambiguous(text, edges()) || nextStart([]byte(text), 0, true, true) < len(text) {
				return
			}
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		r := newResult(Options{})
		form, n := rng.IntN(forms), 1+rng.IntN(200)
		line := fragments(traceLine(form, n+1))
		packets := append([]string{}, fragments(traceLine(form, n))...)
		packets = append(packets, line[:1+rng.IntN(len(line)-1)]...)
		other := fragments(traceLine(rng.IntN(forms), 1000))
		texts := []string{one, two}
		want, cycles := "", 1
		for len(packets) > 0 || len(other) > 0 || len(texts) > 0 {
			switch from := rng.IntN(8); {
			case from < 4 && len(packets) > 0:
				r.filter.Write([]byte(packets[0]))
				packets = packets[1:]
			case from < 7 && len(packets) == 0 && len(other) > 0: // the other begins after it died
				r.filter.Write([]byte(other[0]))
				if other = other[1:]; len(other) == 0 {
					cycles++
				}
			case from == 7 && len(texts) > 0:
				r.filter.Write([]byte(texts[0]))
				want += texts[0]
				texts = texts[1:]
			}
		}
		r.filter.Flush()
		if r.out.String() != want || len(r.cycles) != cycles {
			t.Fatalf("cut at %q: got %q and %d cycles, want %q and %d", line, r.out.String(), len(r.cycles), want, cycles)
		}
	})
}
