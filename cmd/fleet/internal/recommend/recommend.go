// Package recommend says what a workload should set, from what was recorded of it: GOGC,
// GOMEMLIMIT, requests and limits. It is pure: package query asks for the history, and the
// backtest makes one.
//
// How it decides. A container needs heap + what is off the heap + page cache. The heap
// goes to live + (live + stacks) * GOGC/100, and the GC takes CPU time in inverse
// proportion to GOGC. So there is a GOGC at which both together cost the least at given
// prices; it is taken as far as the memory limit leaves room for the largest need that is
// expected in the next week. GOMEMLIMIT is what the limit leaves to the heap: it is a brake
// for what was not expected, not a setting to run at.
package recommend

import (
	"fmt"
	"math"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/observed"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/internal/base/unit"
)

const (
	mib = 1 << 20
	gib = 1 << 30

	// Horizon is for how long a recommendation is made.
	Horizon = 7 * 24 * time.Hour
	// Least is the least history that is enough for any recommendation.
	Least = 24 * time.Hour
	// Enough is the least history by which limits and requests are lowered: with weekdays
	// and a weekend.
	Enough = 6 * 24 * time.Hour

	// slack is what the heap has beyond its goal: the end of marking, and spans that are
	// part full.
	slack = 1.1
	// brake is the part that GOMEMLIMIT takes of what the limit leaves: the runtime keeps
	// its limit approximately.
	brake = .95
	// room is how much more than the live heap GOMEMLIMIT must leave: with less the GC runs
	// all the time.
	room = 1.3
	// worth is the least part of the cost that a higher GOGC must save, and worthMore a
	// lower one, which also costs latency.
	worth     = .03
	worthMore = .1
	// lower is how far the limit must be above the need to be lowered.
	lower = .9
	// offRoom is how much more than the peak of what is off the heap a lowered limit leaves
	// room for: no GC frees that before the limit.
	offRoom = 1.5
)

// Prices are of an hour.
type Prices struct{ Core, GiB float64 }

// Options of a recommendation.
type Options struct {
	Prices Prices
	// MaxMemory is the most that the memory limit may become, in bytes; 0: the present one.
	MaxMemory float64
}

// An Advice is the answer. Bytes and cores are of one pod unless stated; nil is not known,
// or not to be changed.
type Advice struct {
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Days     float64   `json:"days"` // with figures
	Present  Setting   `json:"present"`
	Advised  Setting   `json:"advised"`
	Observed Observed  `json:"observed"`
	Effect   Effect    `json:"effect"`
	Huge     *Huge     `json:"huge_pages,omitempty"`
	// Init says that the container is an init container: a native sidecar.
	Init bool `json:"init_container,omitempty"`

	Confidence Confidence `json:"confidence"`
	Because    []string   `json:"because"` // why so sure, or not
	Safe       []string   `json:"safe"`    // why it is safe
	Missing    []string   `json:"missing,omitempty"`
	Warn       []string   `json:"warnings,omitempty"`
}

// A Setting is what a container runs with.
type Setting struct {
	GOGC       string   `json:"gogc,omitempty"`   // a percentage, or off
	GOMEMLIMIT *float64 `json:"gomemlimit_bytes"` // nil: none
	Request    *float64 `json:"memory_request_bytes"`
	Limit      *float64 `json:"memory_limit_bytes"`
	CPURequest *float64 `json:"cpu_request_cores"`
}

// Observed is what the recommendation comes from: the largest of the pods.
type Observed struct {
	Pods      float64 `json:"pods"` // mean
	Live      Spread  `json:"live_heap_bytes"`
	OffHeap   Spread  `json:"off_heap_bytes"`
	PageCache Spread  `json:"page_cache_bytes"`
	Memory    Spread  `json:"memory_bytes"`
	Growth    float64 `json:"growth_bytes_per_day"`
	// Expected is what is reckoned with in the next week.
	Expected struct {
		Live      float64 `json:"live_heap_bytes"`
		OffHeap   float64 `json:"off_heap_bytes"`
		PageCache float64 `json:"page_cache_bytes"`
	} `json:"expected"`
	GC      *float64 `json:"gc_cores"` // mean, all pods
	GCShare *float64 `json:"gc_share"`
	CPU     *float64 `json:"cpu_cores"` // mean, all pods
	OOM     float64  `json:"oom_kills"`
}

// A Spread is the median, the 99th percentile, and the peak.
type Spread struct {
	Median float64 `json:"median"`
	P99    float64 `json:"p99"`
	Peak   float64 `json:"peak"`
}

// Effect is what the change saves and costs: of all pods, positive is saved.
type Effect struct {
	Cores  *float64 `json:"saved_cores"`
	Memory *float64 `json:"saved_memory_request_bytes"`
	Peak   *float64 `json:"more_memory_at_peak_bytes"` // of a pod: what the change costs
	Money  *float64 `json:"saved_money_per_month"`
}

// Confidence is how much is known.
type Confidence string

// Degrees.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// TooLittleError says that there is no recommendation.
type TooLittleError struct{ Reason string }

func (e *TooLittleError) Error() string { return e.Reason }

// candidates are values of GOGC that are tried.
var candidates = []float64{50, 75, 100, 125, 150, 200, 250, 300, 400, 500, 600, 800}

// Of makes the recommendation.
func Of(h *observed.History, o Options) (*Advice, error) {
	m, err := newModel(h)
	if err != nil {
		return nil, err
	}
	a := &Advice{From: h.Start, To: h.Start.Add(time.Duration(h.Len) * h.Step), Days: m.days, Present: m.present, Observed: m.observed()}
	if v := m.last(rules.Init); v != nil {
		a.Init = *v > 0
	}
	a.Advised = a.Present
	a.Missing, a.Warn = m.missing, m.warn
	a.judge(m)
	g := a.chooseGOGC(m, o)
	a.chooseMemory(m, o, g)
	a.chooseCPU(m, g)
	a.effect(m, o, g)
	a.Huge = hugePages(h, m)
	return a, nil
}

// judge says how sure the answer is.
func (a *Advice) judge(m *model) {
	a.Confidence = High
	lowerTo := func(s Confidence, format string, args ...any) {
		if s == Low || a.Confidence == High {
			a.Confidence = s
		}
		a.Because = append(a.Because, fmt.Sprintf(format, args...))
	}
	have := fmt.Sprintf("%.1f days of figures", m.days)
	switch {
	case m.days < Enough.Hours()/24/2:
		lowerTo(Low, "%s: nothing is lowered with less than %.0f days", have, Enough.Hours()/24)
	case m.days < Enough.Hours()/24:
		lowerTo(Medium, "%s: nothing is lowered with less than %.0f days", have, Enough.Hours()/24)
	default:
		a.Because = append(a.Because, have)
	}
	if m.holes > .1 {
		lowerTo(Medium, "figures are missing for %s of the time between", unit.Percent(m.holes))
	}
	if m.coverage < .95 {
		lowerTo(Medium, "the agent sees %s of the pods", unit.Percent(m.coverage))
	}
	if m.liveSource == rules.Application {
		lowerTo(Medium, "the live heap is what the program says of itself at each scrape; peaks in between are not seen")
	}
	if m.grows() {
		lowerTo(Medium, "the live heap grows by %s a day: how long it goes on is not known", unit.Bytes(m.growth))
	}
	if m.bound() {
		lowerTo(Medium, "the GC takes %s of the CPU time: it cannot keep up, and the heap passes its goal; nothing is lowered", unit.Percent(m.gcShare()))
	}
	if m.spread > .3 {
		lowerTo(Medium, "its peaks differ much from day to day")
	}
	if m.oom > 0 {
		lowerTo(Medium, "it was ended for lack of memory %.0f times", math.Ceil(m.oom))
	}
}

// chooseGOGC returns the part of the heap beyond what is live that the GC leaves, as a
// share: GOGC/100.
func (a *Advice) chooseGOGC(m *model, o Options) float64 {
	now := m.g
	if m.gc == nil {
		a.Missing = append(a.Missing, "CPU time of the GC: GOGC is not changed. Run folio-agent, or export /cpu/classes/gc/total:cpu-seconds (collectors.WithGoCollectorRuntimeMetrics)")
		return now
	}
	if m.leaks() {
		a.Warn = append(a.Warn, fmt.Sprintf("the live heap grows by %s a day, %s of what it was: find what grows first (folio leaks); GOGC is not changed",
			unit.Bytes(m.growth), unit.Percent(m.growth/m.liveMedian)))
		return now
	}
	most := a.most(m, o)
	cost := func(g float64) float64 {
		return o.Prices.Core**m.gc*now/g + o.Prices.GiB*m.pods*m.request(g)/gib
	}
	best := now
	for _, c := range candidates {
		g := c / 100
		if g < now && m.bound() {
			continue
		}
		least := worth
		if g < now {
			least = worthMore
		}
		if m.need(g) <= most && cost(now)-cost(g) >= least*cost(now) && cost(g) < cost(best) {
			best = g
		}
	}
	// Without GOMEMLIMIT nothing else keeps it within its limit.
	if m.old && best == now && m.need(now) > most {
		for _, c := range candidates {
			if g := c / 100; g < now && m.need(g) <= most {
				best = g
			}
		}
	}
	if best != now {
		a.Advised.GOGC = percent(best * 100)
	}
	return best
}

// most is the most memory that a container may have.
func (a *Advice) most(m *model, o Options) float64 {
	switch {
	case o.MaxMemory > 0:
		return o.MaxMemory
	case m.present.Limit != nil:
		return *m.present.Limit
	}
	return math.Inf(1)
}

// chooseMemory sets the limit, GOMEMLIMIT and the request.
func (a *Advice) chooseMemory(m *model, o Options, g float64) {
	need, most := m.need(g), a.most(m, o)
	safe := need + max(0, offRoom*m.offSeries.Quantile(1)-m.off)
	limit := most
	may := m.days >= Enough.Hours()/24 && a.Confidence != Low && m.oom == 0 && !m.leaks() && !m.bound()
	switch {
	case m.present.Limit == nil && (!may || o.MaxMemory == 0):
		limit = math.Inf(1) // a limit where none was may end what ran until now
	case m.present.Limit == nil:
		limit = min(up(safe, 16*mib), most)
	case o.MaxMemory > *m.present.Limit && need > *m.present.Limit:
		limit = min(up(need, 16*mib), o.MaxMemory)
	case may && safe < lower*min(*m.present.Limit, most):
		limit = up(safe, 16*mib)
	default:
		limit = min(*m.present.Limit, most)
	}
	if need > limit {
		a.Warn = append(a.Warn, fmt.Sprintf("it may need %s in the next week, and the limit is %s: raise the limit (--max-memory %s), or find what grows",
			unit.Bytes(need), unit.Bytes(limit), unit.Exact(uint64(up(need, 16*mib)))))
	}
	if !math.IsInf(limit, 0) && (m.present.Limit == nil || limit != *m.present.Limit) {
		a.Advised.Limit = &limit
	}
	a.chooseGOMEMLIMIT(m, limit)
	request := min(up(m.request(g), mib), limit)
	if p := m.present; p.Request != nil && p.Limit != nil && *p.Request == *p.Limit {
		request = limit // guaranteed, and stays so
	}
	if p := m.present.Request; p != nil && request < *p && !may {
		request = min(*p, limit)
	}
	if !math.IsInf(request, 0) {
		a.Advised.Request = &request
	}
}

// chooseGOMEMLIMIT leaves page cache and what is off the heap its part.
func (a *Advice) chooseGOMEMLIMIT(m *model, limit float64) {
	switch {
	case math.IsInf(limit, 0):
		a.Missing = append(a.Missing, "a memory limit: none is set, and GOMEMLIMIT is not changed; --max-memory sets one")
		return
	case m.leaks():
		a.Warn = append(a.Warn, "GOMEMLIMIT is not changed: near its limit, a program that leaks collects garbage all the time, for hours, before it is ended")
		return
	case m.old:
		a.Missing = append(a.Missing, "GOMEMLIMIT needs Go 1.19 or newer: build with a newer Go")
		return
	}
	v := math.Floor(brake*(limit-m.off-m.cache)/mib) * mib
	if v < room*m.live {
		a.Warn = append(a.Warn, fmt.Sprintf("GOMEMLIMIT is not changed: the limit leaves %s to the heap, of which %s may be live; with so little between, the GC would run all the time",
			unit.Bytes(max(v, 0)), unit.Bytes(m.live)))
		if p := m.present.GOMEMLIMIT; p != nil && m.present.Limit != nil && *p > *m.present.Limit-m.off {
			a.Warn = append(a.Warn, fmt.Sprintf("GOMEMLIMIT %s is more than the limit leaves: the container is ended before it counts", unit.Bytes(*p)))
		}
		return
	}
	a.Advised.GOMEMLIMIT = &v
}

// chooseCPU requests what the busiest pod takes.
func (a *Advice) chooseCPU(m *model, g float64) {
	if !(m.cpuPeak > 0) {
		return
	}
	v := m.cpuPeak
	if m.gc != nil && g > 0 && m.pods > 0 {
		v = max(v-*m.gc/m.pods*(1-m.g/g), v/2)
	}
	v = math.Ceil(v*100) / 100
	if p := m.present.CPURequest; p != nil && v < *p && (m.days < Enough.Hours()/24 || a.Confidence == Low) {
		v = *p
	}
	a.Advised.CPURequest = &v
}

// effect is the difference.
func (a *Advice) effect(m *model, o Options, g float64) {
	money, known := 0.0, false
	if m.gc != nil {
		saved := *m.gc * (1 - m.g/g)
		a.Effect.Cores = &saved
		money, known = saved*o.Prices.Core, true
	}
	if p, n := m.present.Request, a.Advised.Request; p != nil && n != nil {
		// What is used beyond the request is taken, too.
		saved := (max(*p, min(m.request(m.g), m.most())) - *n) * m.pods
		a.Effect.Memory = &saved
		money, known = money+saved/gib*o.Prices.GiB, true
	}
	if more := m.need(g) - m.need(m.g); more != 0 {
		a.Effect.Peak = &more
	}
	if known {
		money *= 730
		a.Effect.Money = &money
	}
	limit := a.Advised.Limit
	if limit == nil {
		limit = m.present.Limit
	}
	need := m.need(g)
	a.Safe = append(a.Safe, fmt.Sprintf("expected at most: %s live, %s off the heap, %s page cache; with GOGC=%.0f that is %s",
		unit.Bytes(m.live), unit.Bytes(m.off), unit.Bytes(m.cache), 100*g, unit.Bytes(need)))
	if limit != nil {
		if without := m.live*slack + m.off; a.Advised.GOMEMLIMIT != nil && without < *limit {
			a.Safe = append(a.Safe, fmt.Sprintf("with GOMEMLIMIT the GC frees garbage before the limit: the live heap could be %s before the container is ended, %.1f times the largest so far",
				unit.Bytes((*limit-m.off)/slack), (*limit-m.off)/slack/m.livePeak))
		}
	}
	if a.Advised.Limit == nil || m.present.Limit != nil && *a.Advised.Limit >= *m.present.Limit {
		a.Safe = append(a.Safe, "the memory limit is not lowered")
	}
}

func up(v, step float64) float64 { return math.Ceil(v/step) * step }
