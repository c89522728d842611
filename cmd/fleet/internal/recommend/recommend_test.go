package recommend

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/observed"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
)

// a shape is what a test's workload is like; values of a moment by the day.
type shape struct {
	days    int
	live    func(day float64) float64 // MiB
	off     float64
	cache   float64
	limit   float64
	request float64
	gogc    float64
	gc, cpu float64 // cores
	more    func(h *observed.History, i int)
}

func normal() shape {
	return shape{days: 7, live: func(float64) float64 { return 100 }, off: 50, cache: 20, limit: 1024, request: 800, gogc: 100, gc: .5, cpu: 2}
}

const step = 10 * time.Minute

func (s shape) history() *observed.History {
	n := s.days * 144
	h := observed.New(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), step, n)
	put := func(source, name string, i int, v float64) {
		h.Put(map[string]string{"source": source, "class": "gc_mark"}, name, i, v)
	}
	for i := range n {
		live := s.live(float64(i) / 144)
		put("agent", rules.LiveHeap, i, live*mib)
		put("agent", rules.Heap, i, slack*live*(1+s.gogc/100)*mib)
		put("agent", rules.OffHeap, i, s.off*mib)
		put("agent", rules.PageCache, i, s.cache*mib)
		put("agent", rules.Memory, i, (slack*live*(1+s.gogc/100)+s.off+s.cache)*mib)
		put("agent", rules.Pods, i, 3)
		put("agent", rules.CPUCores, i, s.cpu)
		put("agent", rules.CPUMax, i, s.cpu/3)
		put("agent", rules.GOGCMax, i, s.gogc)
		put("agent", rules.GOGCMin, i, s.gogc)
		put("agent", rules.GOMEMLIMIT, i, math.Inf(1))
		if s.gc > 0 {
			put("agent", rules.TaxCores, i, s.gc)
		}
		if s.limit > 0 {
			put("kube", rules.Limit, i, s.limit*mib)
		}
		if s.request > 0 {
			put("kube", rules.Request, i, s.request*mib)
		}
		if s.more != nil {
			s.more(h, i)
		}
	}
	return h
}

var money = Options{Prices: Prices{Core: .0218, GiB: .0029}}

func advise(t *testing.T, s shape) *Advice {
	t.Helper()
	a, err := Of(s.history(), money)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(a); err != nil {
		t.Fatal(err)
	}
	return a
}

func has(lines []string, part string) bool { return strings.Contains(strings.Join(lines, "\n"), part) }

// By hand. 100 MiB live are 110 expected. At a cost of 0.5/g core and 3 pods of some
// 110*(1+g) MiB, the square root of (0.5*0.0218)/(3*0.107*0.0029) is 3.4: 300 or 400.
func TestByHand(t *testing.T) {
	a := advise(t, normal())
	if a.Advised.GOGC != "300" && a.Advised.GOGC != "400" {
		t.Errorf("GOGC %s", a.Advised.GOGC)
	}
	g := map[string]float64{"300": 3, "400": 4}[a.Advised.GOGC]
	need := 1.1*110*(1+g) + 55 + 22
	if got := a.Advised.Limit; got == nil || *got < (need+1)*mib || *got > (need+60)*mib {
		t.Errorf("limit %v for %.0f MiB", *got/mib, need)
	}
	if want := math.Floor(brake*(*a.Advised.Limit-55*mib-22*mib)/mib) * mib; a.Advised.GOMEMLIMIT == nil || math.Abs(*a.Advised.GOMEMLIMIT-want) > 2*mib {
		t.Errorf("GOMEMLIMIT %.0f, want %.0f", *a.Advised.GOMEMLIMIT/mib, want/mib)
	}
	if want := 110*(1+g) + 70; math.Abs(*a.Advised.Request/mib-want) > 2 {
		t.Errorf("request %.0f, want %.0f", *a.Advised.Request/mib, want)
	}
	if want := .5 * (1 - 1/g); math.Abs(*a.Effect.Cores-want) > 1e-9 {
		t.Errorf("%v cores are saved, want %v", *a.Effect.Cores, want)
	}
	if a.Confidence != High || len(a.Safe) < 2 {
		t.Errorf("%s, %q", a.Confidence, a.Safe)
	}
}

// What a figure that is different leads to.
func TestCases(t *testing.T) {
	with := func(change func(*shape)) shape {
		s := normal()
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		s     shape
		check func(a *Advice) bool
	}{
		"GC not known: GOGC stays": {with(func(s *shape) { s.gc = 0 }), func(a *Advice) bool {
			return a.Advised.GOGC == "100" && a.Effect.Cores == nil && has(a.Missing, "CPU time of the GC: GOGC is not changed")
		}},
		"the limit leaves no room: GOGC stays, GOMEMLIMIT is set": {with(func(s *shape) { s.limit = 330 }), func(a *Advice) bool {
			return a.Advised.GOGC == "100" && *a.Advised.Limit == 330*mib && a.Advised.GOMEMLIMIT != nil && *a.Advised.GOMEMLIMIT < 250*mib
		}},
		"a limit that is too low is said": {with(func(s *shape) { s.limit = 200 }), func(a *Advice) bool {
			return *a.Advised.Limit == 200*mib && a.Advised.GOMEMLIMIT == nil && has(a.Warn, "raise the limit") && has(a.Warn, "GOMEMLIMIT is not changed: the limit leaves") && has(a.Warn, "would run all the time")
		}},
		"a leak: nothing but the request changes": {with(func(s *shape) { s.live = func(d float64) float64 { return 50 + 10*d } }), func(a *Advice) bool {
			return a.Advised.GOGC == "100" && a.Advised.GOMEMLIMIT == nil && *a.Advised.Limit == 1024*mib && has(a.Warn, "folio leaks); GOGC is not changed") && has(a.Warn, "GOMEMLIMIT is not changed: near its limit") && a.Confidence == Medium
		}},
		"a leak with restarts is one": {with(func(s *shape) { s.live = func(d float64) float64 { return 50 + 10*math.Mod(d, 3) } }), func(a *Advice) bool {
			return a.Observed.Growth > 9*mib && *a.Advised.Limit == 1024*mib
		}},
		"days and weekends do not grow": {with(func(s *shape) {
			s.live = func(d float64) float64 {
				if d >= 4 && d < 6 {
					return 60 + 20*math.Sin(2*math.Pi*d)
				}
				return 100 + 20*math.Sin(2*math.Pi*d)
			}
		}), func(a *Advice) bool { return a.Observed.Growth == 0 }},
		"half a week: nothing is lowered": {with(func(s *shape) { s.days = 3; s.limit = 4096; s.request = 4096 }), func(a *Advice) bool {
			return *a.Advised.Limit == 4096*mib && *a.Advised.Request == 4096*mib && a.Confidence == Medium && has(a.Because, "3.0 days")
		}},
		"two days: not sure": {with(func(s *shape) { s.days = 2 }), func(a *Advice) bool { return a.Confidence == Low }},
		"ended for lack of memory: the limit stays": {with(func(s *shape) {
			s.limit = 4096
			s.more = func(h *observed.History, i int) {
				v := 0.0
				if i == 500 {
					v = 1
				}
				h.Put(map[string]string{"source": "kube"}, rules.OOMKills, i, v)
			}
		}), func(a *Advice) bool { return *a.Advised.Limit == 4096*mib && a.Observed.OOM > 0 }},
		"a GC at its bound: nothing is lowered": {with(func(s *shape) { s.gc, s.limit = 1, 4096 }), func(a *Advice) bool {
			return *a.Advised.Limit == 4096*mib && has(a.Because, "cannot keep up")
		}},
		"guaranteed stays guaranteed": {with(func(s *shape) { s.request, s.limit = 2048, 2048 }), func(a *Advice) bool {
			return *a.Advised.Request == *a.Advised.Limit && *a.Advised.Limit < 2048*mib
		}},
		"no limit: none is made": {with(func(s *shape) { s.limit = 0 }), func(a *Advice) bool {
			return a.Present.Limit == nil && a.Advised.Limit == nil && a.Advised.GOMEMLIMIT == nil && a.Advised.GOGC != "100" && has(a.Missing, "a memory limit: none is set, and GOMEMLIMIT is not changed")
		}},
		"no request": {with(func(s *shape) { s.request = 0 }), func(a *Advice) bool { return a.Effect.Memory == nil && has(a.Missing, "a memory request") }},
		"a page cache is kept": {with(func(s *shape) { s.cache, s.limit, s.gc = 2000, 4096, 0 }), func(a *Advice) bool {
			return *a.Advised.GOMEMLIMIT < 1800*mib && *a.Advised.Limit >= 2400*mib && *a.Advised.Request > 2200*mib
		}},
		"GC off": {with(func(s *shape) {
			s.gogc = 100
			s.more = func(h *observed.History, i int) {
				h.Put(map[string]string{"source": "agent"}, rules.GOGCMax, i, math.Inf(1))
			}
		}),
			func(a *Advice) bool { return a.Present.GOGC == "off" && a.Advised.GOGC != "" }},
		"an old Go": {with(func(s *shape) {
			s.more = func(h *observed.History, i int) {
				h.Put(map[string]string{"source": "agent", "go_version": "go1.18.1"}, rules.GoVersions, i, 1)
			}
		}), func(a *Advice) bool { return a.Advised.GOMEMLIMIT == nil && has(a.Missing, "Go 1.19") }},
		"huge pages": {with(func(s *shape) {
			s.more = func(h *observed.History, i int) {
				h.Put(map[string]string{"source": "agent"}, rules.HugeGain, i, 600*mib)
				h.Put(map[string]string{"source": "agent", "class": "page_faults"}, rules.TaxCores, i, .1)
			}
		}), func(a *Advice) bool {
			return a.Huge != nil && math.Abs(a.Huge.Tax-.1) < 1e-9 && strings.Contains(a.Huge.Do, "folio.dev/collapse")
		}},
		"no more CPU to save than it costs": {with(func(s *shape) { s.gc = .001; s.live = func(float64) float64 { return 100 }; s.gogc = 50 }), func(a *Advice) bool { return a.Advised.GOGC == "50" }},
	} {
		if a := advise(t, c.s); !c.check(a) {
			text, _ := json.MarshalIndent(a, "", " ")
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// The table says which settings are not changed.
func TestNotChanged(t *testing.T) {
	s := normal()
	s.gc = 0
	var b strings.Builder
	if err := advise(t, s).Text(&b, "x", nil); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(b.String(), "\n") {
		if f := strings.Fields(l); len(f) > 0 && f[0] == "GOGC" {
			if got := strings.Join(f, " "); got != "GOGC 100 not changed" {
				t.Errorf("%q", got)
			}
			return
		}
	}
	t.Errorf("no row of GOGC:\n%s", b.String())
}

// More memory may be asked for, and is used.
func TestMaxMemory(t *testing.T) {
	s := normal()
	s.limit = 330
	a, err := Of(s.history(), Options{Prices: money.Prices, MaxMemory: 2048 * mib})
	if err != nil || a.Advised.GOGC == "100" || *a.Advised.Limit <= 330*mib || *a.Advised.Limit > 2048*mib || *a.Effect.Peak <= 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

// A limit where none was is made if it is asked for.
func TestFirstLimit(t *testing.T) {
	s := normal()
	s.limit = 0
	a, err := Of(s.history(), Options{Prices: money.Prices, MaxMemory: 2048 * mib})
	if err != nil || a.Advised.Limit == nil || *a.Advised.Limit >= 1024*mib || a.Advised.GOMEMLIMIT == nil {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestTooLittle(t *testing.T) {
	empty := observed.New(time.Now(), step, 1000)
	short := normal()
	short.days = 1
	half := short.history().Cut(72)
	noOff := normal().history()
	delete(noOff.Values, rules.OffHeap)
	for name, h := range map[string]*observed.History{"nothing": empty, "half a day": half, "nothing off the heap": noOff} {
		var little *TooLittleError
		if a, err := Of(h, money); !errors.As(err, &little) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}
