package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
)

// scalings are what is held against the loop in C: an arm of the program objects.
var scalings = []struct{ name, arm string }{
	{"Of[T].New, an arena a thread, reset", "steady"},
	{"New[T], an arena a thread, reset", "steady-new"},
	{"Of[T].New, short-lived arenas", "come-and-go"},
}

// scalingBytes are how much is allocated until the arena is reset or freed.
var scalingBytes = []int{1 << 10, 64 << 10, 1 << 20}

// pair is one program with one thread and with two.
type pair struct{ one, two *arm }

func newPair(name string, threads func(n int) []string) pair {
	return pair{&arm{name: name, command: threads(1)}, &arm{name: name + ", two threads", command: threads(2)}}
}

// undisturbed returns the rounds in which the host left the processors to all programs of the pairs.
func undisturbed(pairs ...pair) (rounds []int) {
	for i := range pairs[0].one.samples {
		if !slices.ContainsFunc(pairs, func(p pair) bool { return p.one.samples[i].disturbed() || p.two.samples[i].disturbed() }) {
			rounds = append(rounds, i)
		}
	}
	return rounds
}

// scaling returns how many objects two threads allocated, of what one did, in each of the rounds.
func (p pair) scaling(rounds []int) []float64 {
	out := make([]float64, len(rounds))
	for i, r := range rounds {
		out[i] = perObject(p.one.samples[r]) / perObject(p.two.samples[r])
	}
	return out
}

func runScaling(c config, b *builder, w io.Writer) error {
	progress("building the programs")
	path, err := b.golang("objects")
	if err != nil {
		return err
	}
	loop, err := b.loop()
	if err != nil {
		return err
	}
	type row struct {
		name  string
		bytes int
		pair
	}
	var rows []row
	blocks := make([][]*arm, len(scalingBytes)) // the loop in C runs just before or after what is held against it
	base := make(map[int]pair)
	add := func(name string, block int, threads func(n int) []string) pair {
		bytes := scalingBytes[block]
		p := newPair(fmt.Sprintf("%s, %s", name, binary(bytes)), threads)
		rows = append(rows, row{name, bytes, p})
		blocks[block] = append(blocks[block], p.one, p.two)
		return p
	}
	for i, bytes := range scalingBytes {
		size := strconv.Itoa(bytes)
		base[bytes] = add("C: bump, clearing", i, func(n int) []string { return []string{loop, strconv.Itoa(n), size} })
		for _, s := range scalings {
			add(s.name, i, func(n int) []string {
				return []string{path, "-arm", s.arm, "-threads", strconv.Itoa(n), "-arena", size}
			})
		}
	}
	for i := range c.rounds {
		progress("round %d of %d", i+1, c.rounds)
		err := quiet.Rounds(1, len(blocks), func(_, j int) error { return round(blocks[j], true, checkDone) })
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "Objects of 16 bytes, %d rounds; %s. A round counts where the host took at most 1%% of the processors' time while the programs of its row ran.\n\n",
		c.rounds, machine())
	t := table.New(w, "loop", "bytes", "rounds", "ns an object, one thread", "two threads, of one", "of the C loop's", "at least", "met")
	for _, r := range rows {
		p := base[r.bytes]
		rounds := undisturbed(p, r.pair)
		mine := r.scaling(rounds)
		of, limit, met := "-", "-", "-"
		if p != r.pair {
			s := stat.PairedRatio(p.scaling(rounds), mine)
			of, limit, met = times(s, true), "0.95x", leastVerdict(s, 0.95)
		}
		s := stat.Summarize(mine)
		t.Rowf("%s | %s | %d | %.2f | %.2fx [%.2f, %.2f] | %s | %s | %s", r.name, binary(r.bytes), len(rounds), r.one.median(perObject),
			s.Median, s.Lo, s.Hi, of, limit, met)
	}
	return nil
}

// leastVerdict goes by the median, and says so when the interval has the limit in it.
func leastVerdict(s stat.Summary, least float64) string {
	if math.IsNaN(s.Median) {
		return "not measured"
	}
	v := yes(s.Median >= least)
	if s.Lo < least && least <= s.Hi {
		v += ", but the interval has the limit in it"
	}
	return v
}
