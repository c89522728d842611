package gctrace

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
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
		{"an old line", []string{sample}, sample, 0},
		{"within text", []string{`{"msg":"` + sample[:len(sample)-1] + `"}` + "\n"}, `{"msg":"` + sample[:len(sample)-1] + `"}` + "\n", 0},
		{"in fragments", frags, "", 1},
		{"text inside a line", with(9, "BenchmarkX-2   \t"), "BenchmarkX-2   \t", 1},
		{"a number before a literal", with(8, "7"), strings.Join(with(8, "7"), ""), 0},
		{"a number in place of the line's", with(9, "7"), strings.Join(with(9, "7"), ""), 0},
		{"in the middle of a text line", append(append([]string{"BenchmarkX-2   \t"}, frags...),
			"  100\t  123 ns/op\n"), "BenchmarkX-2   \t  100\t  123 ns/op\n", 1},
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

// TestLatency checks that text is passed on at once, but behind a line, and how soon there.
func TestLatency(t *testing.T) {
	r := newResult(Options{})
	for _, text := range []string{"hello\n", "> ", "gc is fun\n", "scvg\n", "gc 1 @0.021s 0", "5", "\n", "the gc", "gc", "Loading"} {
		if r.filter.Write([]byte(text)); r.filter.Held() || !strings.HasSuffix(r.out.String(), text) {
			t.Errorf("%q is held", text)
		}
	}
	for _, f := range fragments(sample) {
		r.filter.Write([]byte(f))
		if !r.filter.Held() || r.filter.Begun() != (f != "\n") {
			t.Fatalf("after %q: held %t, begun %t", f, r.filter.Held(), r.filter.Begun())
		}
	}
	r.out.Reset()
	for range doubt {
		r.filter.Write([]byte("more\n"))
	}
	if r.filter.Held() || r.out.String() != strings.Repeat("more\n", doubt) {
		t.Errorf("still held: %q", r.filter.held)
	}
}

func TestElapsed(t *testing.T) {
	now := 400 * time.Millisecond
	r := newResult(Options{Elapsed: func() time.Duration { return now }})
	write := func() {
		for _, f := range fragments(sample) {
			r.filter.Write([]byte(f))
		}
	}
	if write(); r.out.String() != sample || len(r.cycles) != 0 || r.filter.Held() {
		t.Errorf("a line from the future: got %q and %d cycles", r.out.String(), len(r.cycles))
	}
	r.out.Reset()
	now = 421 * time.Millisecond
	if write(); r.out.Len() != 0 || len(r.cycles) != 1 {
		t.Errorf("within the tolerance: got %q and %d cycles", r.out.String(), len(r.cycles))
	}
}

func TestKeep(t *testing.T) {
	r := newResult(Options{Keep: true})
	var want strings.Builder
	for _, f := range append(append([]string{"text "}, fragments(sample)...), "more\n") {
		r.filter.Write([]byte(f))
		want.WriteString(f)
		if r.out.String() != want.String() {
			t.Fatalf("got %q, want %q", r.out.String(), want.String())
		}
	}
	if r.filter.Flush(); r.out.String() != want.String() || len(r.cycles) != 1 {
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
	packets := slices.Concat([]string{"hell"}, fragments(sample), []string{"o, world\n"}, fragments(sample), []string{"x"})
	for i, p := range packets {
		if n, err := f.Write([]byte(p)); n != len(p) || err != nil && i < len(fragments(sample)) {
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
	for _, p := range fragments(sample) {
		f.Write([]byte(p))
	}
	f.Write([]byte("b"))
	if f.Flush(); out.String() != "b" {
		t.Errorf("got %q", out.String())
	}
}

// TestBounds checks that a line that never ends holds text back only so long.
func TestBounds(t *testing.T) {
	r := newResult(Options{})
	r.filter.Write([]byte("gc "))
	want := "gc "
	for i := range 20000 {
		text := fmt.Sprintf("line %d\n", i)
		r.filter.Write([]byte(text))
		want += text
		if len(r.filter.held) > maxHeld {
			t.Fatalf("%d bytes held", len(r.filter.held))
		}
	}
	if r.filter.Held() || r.out.String() != want {
		t.Errorf("got %d bytes, want %d", r.out.Len(), len(want))
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
		rest := in
		for _, c := range out {
			i := bytes.IndexByte(rest, c)
			if i < 0 {
				t.Fatalf("the output is not a subsequence of the input:\n in %q\nout %q", in, out)
			}
			rest = rest[i+1:]
		}
		if !bytes.Contains(in, []byte("gc ")) && !bytes.Contains(in, []byte("scvg")) && !bytes.Equal(in, out) {
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

// BenchmarkTrace filters lines in fragments.
func BenchmarkTrace(b *testing.B) {
	var in [][]byte
	for _, f := range fragments(sample) {
		in = append(in, []byte(f))
	}
	f := NewFilter(discard{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range in {
			f.Write(p)
		}
	}
}
