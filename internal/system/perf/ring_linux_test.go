package perf

import (
	"math"
	"os"
	"reflect"
	"sync/atomic"
	"testing"
)

// fakeRing is a ring that a test writes to in the place of the kernel.
type fakeRing struct{ *ring }

func newFakeRing() fakeRing {
	page := os.Getpagesize()
	mem := make([]byte, 2*page)
	return fakeRing{&ring{mem: mem, data: mem[page:]}}
}

// write reports whether there was room.
func (r fakeRing) write(rec []byte) bool {
	c := r.control()
	if c.Data_head-c.Data_tail+uint64(len(rec)) > uint64(len(r.data)) {
		return false
	}
	for i, b := range rec {
		r.data[(c.Data_head+uint64(i))%uint64(len(r.data))] = b
	}
	atomic.StoreUint64(&c.Data_head, c.Data_head+uint64(len(rec)))
	return true
}

func fakeSession(rings ...fakeRing) *Session {
	s := &Session{decoder: *newDecoder(layout{})}
	for _, r := range rings {
		s.rings = append(s.rings, r.ring)
	}
	return s
}

// Records of any size come out as they went in, over many rounds of the ring.
func TestRingWraps(t *testing.T) {
	r := newFakeRing()
	r.control().Data_head, r.control().Data_tail = math.MaxUint64-999, math.MaxUint64-999 // the marks wrap around, too
	s := fakeSession(r)
	var got, want []int
	h := &Handler{Sample: func(s *Sample) {
		got = append(got, int(s.Time))
		for i, pc := range s.User {
			if pc != s.Time+uint64(i) {
				t.Fatalf("sample %d: address %d is %#x", s.Time, i, pc)
			}
		}
	}}
	for n := 1; n < 500; n++ {
		chain := []any{contextUser}
		for i := range 1 + n%59 {
			chain = append(chain, n+i)
		}
		rec := record(recordSample, 2, cpuSample(n, chain...)...)
		if !r.write(rec) {
			if err := s.Drain(h); err != nil {
				t.Fatal(err)
			}
			if !r.write(rec) {
				t.Fatal("no room after a drain")
			}
		}
		want = append(want, n)
	}
	if err := s.Drain(h); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || s.Lost() != 0 {
		t.Errorf("%d of %d records came out, or in another order; %d lost", len(got), len(want), s.Lost())
	}
}

func TestDrainIsInTheOrderOfTime(t *testing.T) {
	a, b := newFakeRing(), newFakeRing()
	s := fakeSession(a, b)
	const future = uint64(math.MaxInt64)
	a.write(ended(recordComm, miscCommExec, 30, u(3), u(3), "c"))
	a.write(ended(recordComm, miscCommExec, 10, u(1), u(1), "a"))
	a.write(ended(recordComm, miscCommExec, future, u(4), u(4), "later"))
	a.write(ended(recordComm, miscCommExec, 5, u(0), u(0), "behind a later one"))
	b.write(ended(recordComm, miscCommExec, 20, u(2), u(2), "b"))
	var told []string
	for range 2 {
		if err := s.Drain(story(&told)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"exec 1 a", "exec 2 b", "exec 3 c"}
	if !reflect.DeepEqual(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if c := a.control(); c.Data_head == c.Data_tail {
		t.Error("what is newer than the drain did not stay")
	}
}

func TestCorruptRing(t *testing.T) {
	bad, good := newFakeRing(), newFakeRing()
	s := fakeSession(bad, good)
	bad.control().Data_head = 1 << 40
	good.write(ended(recordComm, miscCommExec, 10, u(1), u(1), "a"))
	good.write(make([]byte, 64)) // a record without a size
	var told []string
	if err := s.Drain(story(&told)); err != nil {
		t.Fatal(err)
	}
	bad.write(ended(recordComm, miscCommExec, 20, u(2), u(2), "b"))
	good.write(ended(recordComm, miscCommExec, 30, u(3), u(3), "c"))
	if err := s.Drain(story(&told)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"exec 1 a", "exec 2 b", "exec 3 c"}; !reflect.DeepEqual(told, want) || s.Lost() != 2 {
		t.Errorf("told %q, want %q; lost %d, want 2", told, want, s.Lost())
	}
}

func TestParseCPUs(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
	}{
		{"0", []int{0}}, {"0-2", []int{0, 1, 2}}, {"0,2-3,8", []int{0, 2, 3, 8}},
		{"", nil}, {"a", nil}, {"3-1", nil}, {"-1", nil}, {"0-999999999", nil}, {"1,", nil},
	} {
		if got := parseCPUs(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
	}
}

func FuzzCPUs(f *testing.F) {
	f.Add("0-2,8")
	f.Fuzz(func(t *testing.T, s string) {
		for _, cpu := range parseCPUs(s) {
			if cpu < 0 {
				t.Errorf("processor %d", cpu)
			}
		}
	})
}
