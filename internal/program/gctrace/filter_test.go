package gctrace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

const sample = "gc 12 @0.521s 3%: 0.15+0.37+0.25 ms clock, 3.0+0.19/0.39/0.60+5.0 ms cpu, 4->4->0 MB, 5 MB goal, 0 MB stacks, 0 MB globals, 48 P\n"

func TestFilter(t *testing.T) {
	frags := fragments(sample)
	// with returns the fragments of a line with text after the k-th.
	with := func(k int, text ...string) []string {
		out := append([]string{}, frags[:k]...)
		return append(append(out, text...), frags[k:]...)
	}
	tests := []struct {
		name   string
		in     []string
		want   string
		cycles int
	}{
		{"nothing", nil, "", 0},
		{"text", []string{"hello\n"}, "hello\n", 0},
		{"a line", []string{sample}, "", 1},
		{"in fragments", frags, "", 1},
		{"text inside a line", with(9, "BenchmarkX-2   \t"), "BenchmarkX-2   \t", 1},
		{"a number before a literal", with(8, "7"), "7", 1},
		{"in the middle of a text line", append(append([]string{"BenchmarkX-2   \t"}, frags...),
			"  100\t  123 ns/op\n"), "BenchmarkX-2   \t  100\t  123 ns/op\n", 1},
		{"relayed, in one chunk", []string{"a\nBench\t" + sample + "b\n" + sample + sample + "c"}, "a\nBench\tb\nc", 3},
		{"relayed, interrupted", []string{sample[:len("gc 12 @0.521s 3")],
			"hello, world\n" + sample[len("gc 12 @0.521s 3"):]}, "hello, world\n", 1},
		{"relayed, interrupted in a chunk", []string{sample[:len("gc 12 @0.521s 3%: 0.15+")] + "hello\n" +
			sample[len("gc 12 @0.521s 3%: 0.15+"):]}, "hello\n", 1},
		{"two lines mixed in a chunk", []string{"gc 12 @0.521s 3%: " + "gc 1 @0.021s " +
			sample[len("gc 12 @0.521s 3%: "):] + sample[len("gc 12 @0.521s "):]}, "", 2},
		{"scavenger", []string{"a", "scvg", "-1", ": ", "5", " MB released\n", "b"}, "ab", 0},
		{"never completed", frags[:12], "", 0},
		{"not in the runtime's form", []string{strings.Replace(sample, "0.15", "0.150", 1)}, strings.Replace(sample, "0.15", "0.150", 1), 0},
		{"a number too large", []string{strings.Replace(sample, "->0 MB", "->99999999999999999 MB", 1)},
			strings.Replace(sample, "->0 MB", "->99999999999999999 MB", 1), 0},
		{"carriage return", []string{strings.Replace(sample, "\n", "\r\n", 1)}, strings.Replace(sample, "\n", "\r\n", 1), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newResult(Options{})
			for _, p := range tt.in {
				if n, err := r.filter.Write([]byte(p)); n != len(p) || err != nil {
					t.Fatalf("Write: got %d, %v", n, err)
				}
			}
			if err := r.filter.Flush(); err != nil {
				t.Fatal(err)
			}
			if r.filter.Held() {
				t.Error("held after Flush")
			}
			if r.out.String() != tt.want || len(r.cycles) != tt.cycles {
				t.Errorf("got %q and %d cycles, want %q and %d", r.out.String(), len(r.cycles), tt.want, tt.cycles)
			}
		})
	}
}

// TestLatency checks that text is passed on at once where it can be.
func TestLatency(t *testing.T) {
	for _, text := range []string{
		"hello\n", "> ", "gc is fun\n", "the gc\n", "scvg\n", "gc 1 @0.021s 0", "5", "\n", "100%", "gcc", "GC 12",
	} {
		r := newResult(Options{})
		for _, f := range fragments(sample) {
			r.filter.Write([]byte(f))
		}
		if r.filter.Held() {
			t.Fatal("a complete line is held")
		}
		r.filter.Write([]byte(text))
		want := text != "gc 1 @0.021s 0"
		if got := !r.filter.Held() && r.out.String() == text; got != want {
			t.Errorf("%q passed on: got %t, want %t", text, got, want)
		}
	}
	// What may be a line that text has cut off waits, but not for ever.
	r := newResult(Options{})
	r.filter.Write([]byte("gc 12 apples\n"))
	for range 20 {
		r.filter.Write([]byte("more\n"))
	}
	if r.filter.Held() || r.out.String() != "gc 12 apples\n"+strings.Repeat("more\n", 20) {
		t.Errorf("still held after 20 packets: %q", r.filter.held)
	}
	for _, tail := range []string{"g", "gc", "gc ", "gc 12", "s", "sc", "scv", "scvg", "scvg-"} {
		r := newResult(Options{})
		r.filter.Write([]byte("text " + tail))
		if !r.filter.Held() || r.out.String() != "text " {
			t.Errorf("%q is not held: %q", tail, r.out.String())
		}
		r.filter.Flush()
		if r.filter.Held() || r.out.String() != "text "+tail {
			t.Errorf("%q after Flush: %q", tail, r.out.String())
		}
	}
}

func TestElapsed(t *testing.T) {
	now := 400 * time.Millisecond
	r := newResult(Options{Elapsed: func() time.Duration { return now }})
	r.filter.Write([]byte("old:\n" + sample + "end\n"))
	if want := "old:\n" + sample + "end\n"; r.out.String() != want || len(r.cycles) != 0 {
		t.Errorf("a line from the future: got %q and %d cycles", r.out.String(), len(r.cycles))
	}
	for i := range sample { // in two cuts: what was open is given up at the end
		r.out.Reset()
		r.filter.Write([]byte(sample[:i]))
		r.filter.Write([]byte(sample[i:]))
		if r.out.String() != sample || r.filter.Held() {
			t.Errorf("a line from the future, cut at %d: got %q, held %t", i, r.out.String(), r.filter.Held())
		}
	}
	r.out.Reset()
	now = 421 * time.Millisecond
	r.filter.Write([]byte(sample))
	if r.out.Len() != 0 || len(r.cycles) != 1 {
		t.Errorf("within the tolerance: got %q and %d cycles", r.out.String(), len(r.cycles))
	}
}

func TestKeep(t *testing.T) {
	r := newResult(Options{Keep: true})
	var want strings.Builder
	for _, f := range fragments("text " + sample + "more\n") {
		r.filter.Write([]byte(f))
		want.WriteString(f)
		if r.out.String() != want.String() {
			t.Fatalf("got %q, want %q", r.out.String(), want.String())
		}
	}
	r.filter.Write([]byte(sample))
	r.filter.Flush()
	if r.out.String() != want.String()+sample || len(r.cycles) != 2 {
		t.Errorf("got %q and %d cycles", r.out.String(), len(r.cycles))
	}
}

type failing struct {
	bytes.Buffer
	room int
}

var errFull = errors.New("full")

func (w *failing) Write(p []byte) (int, error) {
	if len(p) > w.room {
		return 0, errFull
	}
	w.room -= len(p)
	return w.Buffer.Write(p)
}

func TestWriteError(t *testing.T) {
	w := &failing{room: 5}
	cycles := 0
	f := NewFilter(w, &Options{OnCycle: func(Cycle) { cycles++ }})
	for i, p := range []string{"hell", sample, "o, world\n", sample, "x"} {
		n, err := f.Write([]byte(p))
		if n != len(p) || (i >= 2) != errors.Is(err, errFull) {
			t.Errorf("Write %d: got %d, %v", i, n, err)
		}
	}
	if err := f.Flush(); !errors.Is(err, errFull) {
		t.Errorf("Flush: got %v", err)
	}
	if cycles != 2 || w.String() != "hell" {
		t.Errorf("got %d cycles and %q", cycles, w.String())
	}
}

func TestNilOptions(t *testing.T) {
	var out bytes.Buffer
	f := NewFilter(&out, nil)
	f.Write([]byte("a" + sample + "b"))
	if f.Flush(); out.String() != "ab" {
		t.Errorf("got %q", out.String())
	}
}

// TestBounds checks that a line that never ends holds text back only so long,
// and that lines among the held text are not lost.
func TestBounds(t *testing.T) {
	testenv.Alone(t)
	r := newResult(Options{})
	r.filter.Write([]byte("gc "))
	want := "gc "
	for i := range 20000 {
		if i%100 == 0 {
			for _, f := range fragments(sample) {
				r.filter.Write([]byte(f))
			}
		}
		text := fmt.Sprintf("line %d\n", i)
		r.filter.Write([]byte(text))
		want += text
		if len(r.filter.held) > maxHeld {
			t.Fatalf("%d bytes held", len(r.filter.held))
		}
	}
	if r.out.Len() < len(want)/2 {
		t.Errorf("only %d of %d bytes passed on", r.out.Len(), len(want))
	}
	r.filter.Flush()
	if r.out.String() != want || len(r.cycles) != 200 {
		t.Errorf("got %d bytes and %d cycles, want %d and 200", r.out.Len(), len(r.cycles), len(want))
	}
	// More beginnings than lines may be open.
	r = newResult(Options{})
	for range 200 {
		r.filter.Write([]byte("gc "))
	}
	r.filter.Flush()
	if r.out.String() != strings.Repeat("gc ", 200) {
		t.Errorf("got %q", r.out.String())
	}
}

// TestBusyWriters mixes recorded lines of several processes so that some line is
// nearly always open.
func TestBusyWriters(t *testing.T) {
	var traces [][]string
	for _, lines := range recorded(t) {
		for _, l := range lines {
			traces = append(traces, fragments(l+"\n"))
		}
	}
	for _, n := range []int{1, 2, 4} {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		r := newResult(Options{})
		writers := make([][]string, n)
		want, text, cur := 0, "", 0
		for step := 0; want < 300 || len(writers) > 0; step++ {
			if len(writers) == 0 {
				break
			}
			if rng.IntN(8) == 0 {
				cur = rng.IntN(len(writers))
			}
			cur %= len(writers)
			if len(writers[cur]) == 0 {
				switch {
				case want == 300:
					writers = append(writers[:cur], writers[cur+1:]...)
				case rng.IntN(2) == 0:
					writers[cur] = []string{fmt.Sprintf("text %d\n", step)}
				default:
					writers[cur] = traces[rng.IntN(len(traces))]
					want++
				}
				continue
			}
			p := writers[cur][0]
			writers[cur] = writers[cur][1:]
			if p[0] == 't' {
				text += p
			}
			r.filter.Write([]byte(p))
		}
		r.filter.Flush()
		if r.out.String() != text || len(r.cycles) != want {
			t.Errorf("%d writers: got %d cycles, want %d; text intact: %t", n, len(r.cycles), want, r.out.String() == text)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add([]byte("a\n"+sample+"b gc "+sample), uint64(1), false)
	f.Add([]byte("scvg-1: 5 MB released\ngc 1 @0.0"), uint64(2), true)
	f.Add([]byte(sample[:40]+sample[:50]+"text\n"+sample[40:]+sample[50:]), uint64(3), false)
	f.Add([]byte(strings.Repeat("gc 1gc 12 @gc \ngc 1 @0", 30)), uint64(4), false)
	f.Fuzz(func(t *testing.T, in []byte, seed uint64, fragmented bool) {
		in = in[:min(len(in), 8<<10)] // beginnings of lines without end take their time
		rng := rand.New(rand.NewPCG(seed, 0))
		r := newResult(Options{})
		var chunks []string
		if fragmented {
			chunks = fragments(string(in) + "\n")
			in = append(bytes.Clone(in), '\n')
		} else {
			for rest := in; len(rest) > 0; {
				n := min(len(rest), 1+rng.IntN(1+rng.IntN(300)))
				chunks = append(chunks, string(rest[:n]))
				rest = rest[n:]
			}
		}
		for _, c := range chunks {
			r.filter.Write([]byte(c))
			if rng.IntN(50) == 0 {
				r.filter.Flush()
			}
		}
		r.filter.Flush()
		out := r.out.Bytes()
		if int64(len(in)-len(out)) != r.filter.taken {
			t.Fatalf("%d bytes in, %d out, %d taken", len(in), len(out), r.filter.taken)
		}
		rest := in
		for _, c := range out {
			i := bytes.IndexByte(rest, c)
			if i < 0 {
				t.Fatalf("the output is not a subsequence of the input:\n in %q\nout %q", in, out)
			}
			rest = rest[i+1:]
		}
		size := int64(0)
		for _, c := range r.cycles {
			size += int64(len(c.String()) + 1)
		}
		// The scavenger's lines are not reported. No other has a v.
		if complete := r.filter.taken - r.filter.dropped; size > complete || size < complete && !bytes.Contains(in, []byte("v")) {
			t.Fatalf("%d bytes taken of complete lines, the cycles have %d", complete, size)
		}
		if !bytes.Contains(in, gcStart) && !bytes.Contains(in, scvgStart) && !bytes.Equal(in, out) {
			t.Fatalf("text changed:\n in %q\nout %q", in, out)
		}
	})
}

func BenchmarkText(b *testing.B) {
	line := "2026/01/02 15:04:05 GET /api/v1/logging/config 200 1.25ms going on; the gc is fine\n"
	p := []byte(strings.Repeat(line, 4096/len(line)))
	f := NewFilter(discard{}, nil)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		f.Write(p)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkBeginnings filters text that begins lines all the time.
func BenchmarkBeginnings(b *testing.B) {
	for _, text := range []string{"gc 1gc 12 @gc \ngc 1 @0", "gc 1 @0.021s 0%: 0.15+\n", "gc 12 apples\n"} {
		b.Run(text[:4], func(b *testing.B) {
			p := []byte(strings.Repeat(text, 64<<10/len(text)))
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				f := NewFilter(discard{}, nil)
				f.Write(p)
				f.Flush()
			}
		})
	}
}

// BenchmarkTrace filters whole lines in fragments, from one process and from
// two that print at the same time.
func BenchmarkTrace(b *testing.B) {
	var one [][]byte
	for _, f := range fragments(sample) {
		one = append(one, []byte(f))
	}
	var two [][]byte
	for i := range one {
		two = append(two, one[i])
		if i >= 3 {
			two = append(two, one[i-3])
		}
	}
	two = append(two, one[len(one)-3:]...)
	for _, bb := range []struct {
		name  string
		in    [][]byte
		lines int
	}{{"one", one, 1}, {"two", two, 2}, {"whole", [][]byte{[]byte(sample)}, 1}} {
		b.Run(bb.name, func(b *testing.B) {
			n := 0
			f := NewFilter(discard{}, &Options{OnCycle: func(Cycle) { n++ }})
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range bb.in {
					f.Write(p)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(n, 1)), "ns/line")
			if n != b.N*bb.lines {
				b.Errorf("%d lines, want %d", n, b.N*bb.lines)
			}
		})
	}
}

// A prompt that ends in "g" may be passed on soon; a line must not be.
func TestBegun(t *testing.T) {
	for text, want := range map[string]bool{"Loading": false, "a gc": false, "gc ": true, "x gc 12 @0": true, "scvg1: ": true} {
		f := NewFilter(io.Discard, nil)
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if !f.Held() || f.Begun() != want {
			t.Errorf("%q: held %v, begun %v, want begun %v", text, f.Held(), f.Begun(), want)
		}
	}
}
