// Package synthetic makes workloads whose memory is known minute by minute: what a
// recommendation is tested against. Kinds, shapes and seeds were fixed before package
// recommend was written, so that it could not be fitted to them: do not change them with
// it.
package synthetic

import (
	"math"
	"math/rand/v2"
	"time"
)

// Step is the time between two moments of a pod.
const Step = time.Minute

const (
	perDay = int(24 * time.Hour / Step)
	mib    = 1 << 20
)

// A Moment is what a pod needs at a time, whatever its settings. Bytes, bytes a second and
// cores.
type Moment struct {
	Live    float64 // live heap, without what leaked
	Leaked  float64 // live heap that is never freed, since the first moment
	Alloc   float64 // a second
	Stacks  float64 // of goroutines, and globals: what the GC scans besides the heap
	OffHeap float64 // of C libraries, mappings, the kernel
	Cache   float64 // page cache that it makes use of
	CPU     float64 // cores, without the GC
}

// A Setting is what a container runs with. 0 is none.
type Setting struct {
	GOGC       float64
	GOMEMLIMIT float64 // bytes
	Limit      float64 // bytes
	Request    float64 // bytes
}

// A Workload is pods over time, and the setting that it has.
type Workload struct {
	Kind    string
	Seed    uint64
	Pods    [][]Moment // each of the same length
	Setting Setting
	Cost    Cost
}

// A Cost is what its garbage costs to collect.
type Cost struct {
	PerByte  float64 // core-seconds to mark a byte
	PerCycle float64 // core-seconds of a cycle
}

// Kinds of workloads.
var Kinds = []string{"growing", "daily", "bursty", "leaking", "off-heap", "page-cache-heavy"}

// Seeds: the first to work with, the others to judge by.
var (
	Known   = seeds(1, 20)
	HeldOut = seeds(1001, 40)
)

func seeds(first uint64, n int) []uint64 {
	var out []uint64
	for i := range uint64(n) {
		out = append(out, first+i)
	}
	return out
}

// a world is the random numbers of a workload.
type world struct{ *rand.Rand }

func (w world) between(lo, hi float64) float64 { return lo + (hi-lo)*w.Float64() }

// log is between lo and hi, as likely in each factor of two.
func (w world) log(lo, hi float64) float64 {
	return math.Exp(w.between(math.Log(lo), math.Log(hi)))
}

func (w world) chance(p float64) bool { return w.Float64() < p }

// New makes a workload of a kind, of so many days.
func New(kind string, seed uint64, days int) *Workload {
	w := world{rand.New(rand.NewPCG(seed, uint64(len(kind))<<32|uint64(kind[0])))}
	out := &Workload{Kind: kind, Seed: seed, Cost: Cost{PerByte: w.log(.4, 1.6) / (1 << 30), PerCycle: w.log(.2e-3, 2e-3)}}
	base := shape{
		live: w.log(48*mib, 3<<30), alloc: w.log(.1, 1.5), stacks: w.log(2*mib, 60*mib),
		off: w.between(.1, .4), cache: w.between(.02, .3), cpu: w.log(.15, 4),
		day: w.between(0, .15), weekend: w.between(0, .1), noise: w.between(.01, .04), phase: w.Float64(),
	}
	change(kind, w, &base)
	for range 2 + w.IntN(4) {
		out.Pods = append(out.Pods, base.pod(w, days*perDay))
	}
	out.Setting = setting(w, out)
	return out
}

// setting is what somebody once chose: by what was seen in the first days, with room that
// was a guess.
func setting(w world, of *Workload) Setting {
	s := Setting{GOGC: 100}
	switch {
	case w.chance(.12):
		s.GOGC = 50
	case w.chance(.12):
		s.GOGC = 200
	}
	peak, cache := 0.0, 0.0
	for _, p := range of.Pods {
		for _, m := range p[:min(len(p), 2*perDay)] {
			live := m.Live + m.Leaked
			peak = max(peak, 1.06*(live+(live+m.Stacks)*s.GOGC/100)+m.Stacks+m.OffHeap)
			cache = max(cache, m.Cache)
		}
	}
	s.Limit = math.Ceil((peak+w.between(.3, 1)*cache)*w.between(1.1, 2.4)/(16*mib)) * 16 * mib
	s.Request = math.Ceil(s.Limit*w.between(.5, 1)/mib) * mib
	if w.chance(.25) {
		s.GOMEMLIMIT = math.Floor(.9 * s.Limit)
	}
	return s
}
