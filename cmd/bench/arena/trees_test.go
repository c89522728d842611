package main

import (
	"math"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/test/testenv"
)

// The programs that need nothing but the toolchain and a C compiler do the same
// work; the others are checked whenever the table is made.
func TestProgramsAgree(t *testing.T) {
	b, err := newBuilder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	trees, err := b.golang("trees")
	if err != nil {
		t.Fatal(err)
	}
	const depth = 10
	arms := []*arm{
		{name: "new", command: []string{trees, "10"}},
		{name: "more threads", command: []string{trees, "-threads", "3", "10"}},
		{name: "folio", command: []string{trees, "-with", "folio", "10"}},
		{name: "folio, batches", command: []string{trees, "-with", "folio", "-batch", "4096", "10"}},
		{name: "folio, reset", command: []string{trees, "-with", "folio", "-reset", "-base", "10"}},
	}
	want := counts(depth)
	for _, a := range arms {
		check(t, a, want)
	}

	if _, err := exec.LookPath("cc"); err != nil || runtime.GOOS != "linux" {
		testenv.Missing(t, "the C programs need Linux and a C compiler: apt-get install gcc libc6-dev")
	}
	for l, args := range map[library][][]string{
		bump:  {{"huge"}, {"base"}, {"huge", "zero"}},
		glibc: {nil},
	} {
		path, err := b.c(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, more := range args {
			check(t, &arm{name: l.use, command: append([]string{path, "10", "2"}, more...)}, want)
		}
	}
}

func check(t *testing.T, a *arm, want string) {
	t.Helper()
	s, err := a.once()
	if err != nil {
		t.Error(err)
	} else if s.out != want {
		t.Errorf("%s %q printed\n%s\nwant\n%s", a.name, a.command, s.out, want)
	}
}

// What -scaling runs does its work, in Go and in C, with one thread and with two.
func TestLoops(t *testing.T) {
	b, err := newBuilder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := b.golang("objects")
	if err != nil {
		t.Fatal(err)
	}
	var commands [][]string
	for _, threads := range []string{"1", "2"} {
		for _, s := range scalings {
			commands = append(commands, []string{objects, "-arm", s.arm, "-threads", threads, "-arena", "4096"})
		}
	}
	if loop, err := b.loop(); err == nil {
		commands = append(commands, []string{loop, "2", "4096"})
	} else {
		t.Logf("without the loop in C: %v", err)
	}
	for _, command := range commands {
		s, err := (&arm{name: "loop", command: command}).once()
		if err != nil {
			t.Error(err)
			continue
		}
		// Each look at the clock comes after 2^18 objects and some more, in blocks of 256.
		if n, _, err := done(s.out); err != nil || n < 1<<18 || int(n)%256 != 0 {
			t.Errorf("%q printed %q: %v", command, s.out, err)
		}
	}
	if _, err := (&arm{name: "loop", command: []string{objects, "-arm", "steady", "-arena", "8"}}).once(); err == nil {
		t.Error("an arena of less than an object is accepted")
	}
}

// Scaling is of rates: half the time an object is twice as many.
func TestScaling(t *testing.T) {
	p := pair{&arm{samples: []sample{{out: "10 100"}, {out: "10 100"}}}, &arm{samples: []sample{{out: "20 100"}, {out: "30 100"}}}}
	if got := p.scaling([]int{0, 1}); !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("scaling %v, want [2 3]", got)
	}
	// A round in which the host took a processor counts for nobody who is held against what ran in it.
	most := float64(runtime.NumCPU()) / 100
	calm, other := sample{wall: 1, stolen: most}, sample{wall: 1, stolen: most + 0.01}
	quiet := pair{&arm{samples: []sample{calm, calm, calm}}, &arm{samples: []sample{calm, calm, calm}}}
	noisy := pair{&arm{samples: []sample{calm, other, calm}}, &arm{samples: []sample{other, calm, calm}}}
	if got := undisturbed(quiet); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("rounds %v, want all", got)
	}
	if got := undisturbed(quiet, noisy); !slices.Equal(got, []int{2}) {
		t.Errorf("rounds %v, want [2]", got)
	}
	for _, test := range []struct {
		lo, median, hi float64
		want           string
	}{
		{0.96, 0.97, 0.98, "yes"},
		{0.9, 0.97, 0.98, "yes, but the interval has the limit in it"},
		{0.9, 0.94, 0.98, "no, but the interval has the limit in it"},
		{0.8, 0.85, 0.9, "no"},
		{0, math.NaN(), 0, "not measured"},
	} {
		if got := leastVerdict(stat.Summary{Lo: test.lo, Median: test.median, Hi: test.hi}, 0.95); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

func TestCounts(t *testing.T) {
	const want = "stretch tree of depth 7\t check: 255\n" +
		"64\t trees of depth 4\t check: 1984\n" +
		"16\t trees of depth 6\t check: 2032\n" +
		"long lived tree of depth 6\t check: 127\n"
	if got := counts(6); got != want {
		t.Errorf("counts(6) = %q, want %q", got, want)
	}
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		limit, lo, median, hi float64
		measured              bool
		want                  string
	}{
		{1, 0.7, 0.8, 0.9, true, "yes"},
		{1, 0.7, 0.8, 1.1, true, "yes, but the interval has the limit in it"},
		{1, 0.7, 1.05, 1.1, true, "no, but the interval has the limit in it"},
		{1, 1.2, 1.3, 1.4, true, "no"},
		{0, 1.2, 1.3, 1.4, true, "-"},
		{1, 0, 0, 0, false, "not measured"},
		{1, math.NaN(), math.NaN(), math.NaN(), true, "not measured"},
	} {
		s := stat.Summary{Lo: test.lo, Median: test.median, Hi: test.hi}
		if got := (bound{limit: test.limit}).verdict(s, test.measured); got != test.want {
			t.Errorf("limit %v of %v: %q, want %q", test.limit, s, got, test.want)
		}
	}
}

// What a program wrote is refused unless it is two positive numbers.
func TestDone(t *testing.T) {
	for _, bad := range []string{"", "12", "x 12", "0 12", "12 -1"} {
		if _, _, err := done(bad); err == nil {
			t.Errorf("done(%q): no error", bad)
		}
	}
	if n, ns, err := done("12 345\n"); n != 12 || ns != 345 || err != nil {
		t.Errorf("done = %v, %v, %v", n, ns, err)
	}
}
