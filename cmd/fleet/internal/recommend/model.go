package recommend

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/observed"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
	"github.com/foliomem/folio/internal/base/unit"
)

// A model is what of a history decides.
type model struct {
	h       *observed.History
	days    float64
	holes   float64 // share of the time between the first and the last figure
	present Setting
	set     float64 // GOGC
	old     bool    // Go before GOMEMLIMIT

	liveSource rules.Source
	liveSeries observed.Series
	offSeries  observed.Series
	cacheSer   observed.Series
	stacks     float64 // what the GC scans besides the heap

	// g is GOGC/100 as it works: less than what is set where GOMEMLIMIT sets the pace.
	g          float64
	gc         *float64
	cpu        *float64
	cpuPeak    float64
	pods       float64
	coverage   float64 // of pods, by the agent
	oom        float64
	growth     float64 // of the live heap, a day
	spread     float64 // of daily peaks: standard deviation of the logarithm
	liveMedian float64
	livePeak   float64
	peak       float64 // of all that is charged

	live, off, cache float64 // expected at most within the horizon

	missing, warn []string
}

// leakShare is the growth of a day, as a share of the live heap, from which a program is
// taken to leak; growthShare that from which it is said to grow.
const (
	leakShare   = .03
	growthShare = .005
)

func (m *model) grows() bool { return m.growth > growthShare*m.liveMedian }
func (m *model) leaks() bool { return m.growth > leakShare*m.liveMedian }

// boundShare is the part of the CPU time, of at most half, from which on the GC is taken to
// be at its bound: then GOGC says less of the heap than how fast the GC is.
const boundShare = .35

func (m *model) bound() bool { return m.gcShare() > boundShare }

func (m *model) gcShare() float64 {
	if m.gc == nil || m.cpu == nil || *m.cpu <= 0 {
		return 0
	}
	return *m.gc / *m.cpu
}

// most is the present limit.
func (m *model) most() float64 {
	if m.present.Limit == nil {
		return math.Inf(1)
	}
	return *m.present.Limit
}

func newModel(h *observed.History) (*model, error) {
	m := &model{h: h}
	m.liveSeries, m.liveSource = h.Best(rules.LiveHeap)
	m.offSeries, _ = h.Best(rules.OffHeap)
	m.cacheSer, _ = h.Best(rules.PageCache)
	for _, need := range []struct {
		s    observed.Series
		what string
	}{
		{m.liveSeries, "the live heap: run folio-agent, or export /gc/heap/live:bytes; with GOMEMLIMIT in effect the default go_* metrics do not tell it"},
		{m.offSeries, "memory off the heap: it needs folio-agent, or go_memstats_* with cAdvisor's metrics or process_resident_memory_bytes"},
	} {
		if len(need.s.Known()) == 0 {
			return nil, &TooLittleError{"not known: " + need.what}
		}
	}
	if err := m.times(); err != nil {
		return nil, err
	}
	m.settings()
	m.pace()
	m.expect()
	return m, nil
}

// times looks at how much there is.
func (m *model) times() error {
	first, last, n := -1, 0, 0
	for i := range m.liveSeries {
		if !math.IsNaN(m.liveSeries[i]) && !math.IsNaN(m.offSeries[i]) {
			if first < 0 {
				first = i
			}
			last = i
			n++
		}
	}
	m.days = (time.Duration(n) * m.h.Step).Hours() / 24
	if n == 0 || m.days < Least.Hours()/24 {
		return &TooLittleError{fmt.Sprintf("%.1f hours of figures: too little for a recommendation, which needs %.0f", m.days*24, Least.Hours())}
	}
	m.holes = 1 - float64(n)/float64(last-first+1)
	return nil
}

func (m *model) last(name string) *float64 {
	s, _ := m.h.Best(name)
	if v := s.Last(); !math.IsNaN(v) {
		return &v
	}
	return nil
}

func (m *model) settings() {
	p := &m.present
	p.GOMEMLIMIT = m.last(rules.GOMEMLIMIT)
	m.set = 100
	if v := m.last(rules.GOGCMax); v != nil && *v > 0 {
		m.set, p.GOGC = *v, percent(*v)
		if least := m.last(rules.GOGCMin); least != nil && *least != *v {
			m.warn = append(m.warn, fmt.Sprintf("its pods differ in GOGC: %s to %s", percent(*least), percent(*v)))
		}
	} else {
		m.missing = append(m.missing, "GOGC: taken to be 100")
	}
	p.Request, p.CPURequest = m.last(rules.Request), m.last(rules.CPURequest)
	p.Limit = m.last(rules.Limit)
	if v := p.GOMEMLIMIT; v != nil && *v >= rules.Unlimited {
		p.GOMEMLIMIT = nil
	}
	for v := range m.h.Go {
		m.old = m.old || observed.Older(v, 19)
	}
	if p.Request == nil {
		m.missing = append(m.missing, "a memory request: what it saves is not known (kube-state-metrics)")
	}
	if m.cacheSer == nil {
		m.missing = append(m.missing, "page cache: none is kept")
	}
}

func percent(gogc float64) string {
	if gogc >= rules.Off {
		return "off"
	}
	return fmt.Sprintf("%.0f", gogc)
}

// pace finds out how the GC works now.
func (m *model) pace() {
	set := m.set / 100
	heap, _ := m.h.Best(rules.Heap)
	var effective, stacks observed.Series
	for i := range heap {
		live := m.liveSeries[i]
		if math.IsNaN(heap[i]) || math.IsNaN(live) || live <= 0 {
			continue
		}
		used := heap[i] / slack
		effective = append(effective, (used-live)/live)
		if set < rules.Off/100 {
			stacks = append(stacks, (used-live)/set-live)
		}
	}
	m.g = set
	binding := m.present.GOMEMLIMIT != nil || set >= rules.Off/100
	if v := effective.Quantile(.5); binding && (v < .8*set) {
		m.g = max(v, .05)
	} else if v := stacks.Quantile(.5); v > 0 {
		m.stacks = min(v, m.offSeries.Quantile(.5))
	}
	if m.g >= rules.Off/100 {
		m.g = 1
	}
}

// expect works out what to reckon with in the horizon.
func (m *model) expect() {
	h := m.h
	day := max(int(24*time.Hour/h.Step), 1)
	gc, _ := h.GC()
	if v := gc.Mean(); !math.IsNaN(v) && v > 0 {
		m.gc = &v
	}
	cpu, _ := h.Best(rules.CPUCores)
	if v := cpu.Mean(); !math.IsNaN(v) {
		m.cpu = &v
	}
	busiest, _ := h.Best(rules.CPUMax)
	m.cpuPeak = busiest.Quantile(.99)
	m.pods = 1
	pods, source := h.Best(rules.Pods)
	if v := pods.Mean(); v > 0 {
		m.pods = v
	}
	m.coverage = 1
	if all := h.Values[rules.Pods][rules.CAdvisor].Mean(); source == rules.Agent && all > 0 {
		m.coverage = min(m.pods/all, 1)
		m.pods = max(m.pods, all)
	}
	for _, v := range h.Values[rules.OOMKills][rules.Kube] {
		if !math.IsNaN(v) {
			m.oom += v * h.Step.Minutes() / 5 // each is of 5 minutes
		}
	}
	if m.oom < .5 {
		m.oom = 0
	}
	m.liveMedian, m.livePeak = m.liveSeries.Quantile(.5), m.liveSeries.Quantile(1)
	if memory, _ := h.Best(rules.Memory); memory != nil {
		m.peak = memory.Quantile(1)
	}
	m.growth = growth(m.liveSeries, h.Step)
	margin := .1
	if m.days < Enough.Hours()/24 {
		margin = .25
	}
	m.spread = spread(m.liveSeries.Peaks(day))
	m.live = expected(m.liveSeries, day, margin, m.growth)
	// No GC holds up what is off the heap: it may rise twice as far as it did.
	m.off = max(expected(m.offSeries, day, margin, growth(m.offSeries, h.Step)), m.offSeries.Quantile(1)+2*rise(m.offSeries.Peaks(day)))
	if m.cacheSer != nil {
		m.cache = expected(m.cacheSer, day, margin, 0)
		if math.IsNaN(m.cache) {
			m.cache = 0
		}
	}
}

// expected is the largest value to reckon with: a margin above the largest so far, by how
// much days differ, and what it grows until the end of the horizon.
func expected(s observed.Series, day int, margin, growth float64) float64 {
	peak := s.Quantile(1)
	above := peak * (max(1+margin, math.Exp(spread(s.Peaks(day)))) - 1)
	return peak + max(above, growth*Horizon.Hours()/24*1.1)
}

// spread is the standard deviation of the logarithms.
func spread(values []float64) float64 {
	var logs []float64
	sum := 0.0
	for _, v := range values {
		if v > 0 {
			logs = append(logs, math.Log(v))
			sum += math.Log(v)
		}
	}
	if len(logs) < 2 {
		return 0
	}
	mean, squares := sum/float64(len(logs)), 0.0
	for _, v := range logs {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares / float64(len(logs)-1))
}

// rise is the most by which a later value is above an earlier one.
func rise(values []float64) float64 {
	most := 0.0
	for i := range values {
		for _, before := range values[:i] {
			most = max(most, values[i]-before)
		}
	}
	return most
}

// growth is by how much a figure grows in a day: the median of what hours differ from the
// same hour of the day before, so that neither the time of day nor a restart counts. Where
// a quarter of the hours fell, what grows is not known to.
func growth(s observed.Series, step time.Duration) float64 {
	hour := max(int(time.Hour/step), 1)
	var hours observed.Series
	for i := 0; i+hour <= len(s); i += hour {
		hours = append(hours, s[i:i+hour].Quantile(.5))
	}
	var rises []float64
	for i := 24; i < len(hours); i++ {
		if d := hours[i] - hours[i-24]; !math.IsNaN(d) {
			rises = append(rises, d)
		}
	}
	if len(rises) < 24 {
		return 0
	}
	slices.Sort(rises)
	if rises[len(rises)*3/10] <= 0 && rises[len(rises)/2] <= 0 {
		return 0
	}
	return max(rises[len(rises)/2], 0)
}

// need is what a pod may need in the horizon.
func (m *model) need(g float64) float64 {
	v := slack*(m.live+(m.live+m.stacks)*g) + m.off + m.cache
	if m.bound() {
		v = max(v, 1.1*m.peak)
	}
	return v
}

// request is what a pod takes all but 1% of the time.
func (m *model) request(g float64) float64 {
	var sum observed.Series
	for i, live := range m.liveSeries {
		v := slack*(live+(live+m.stacks)*g) + m.offSeries[i]
		if m.cacheSer != nil && !math.IsNaN(m.cacheSer[i]) {
			v += m.cacheSer[i]
		}
		sum = append(sum, v)
	}
	// What grows is requested for half of the horizon.
	grown := m.growth * (1 + g) * slack * Horizon.Hours() / 24 / 2
	return min(sum.Quantile(.99)+grown, m.need(g))
}

func (m *model) observed() Observed {
	spread := func(s observed.Series) Spread {
		if len(s.Known()) == 0 {
			return Spread{}
		}
		return Spread{s.Quantile(.5), s.Quantile(.99), s.Quantile(1)}
	}
	memory, _ := m.h.Best(rules.Memory)
	o := Observed{Pods: m.pods, Live: spread(m.liveSeries), OffHeap: spread(m.offSeries), PageCache: spread(m.cacheSer), Memory: spread(memory),
		Growth: m.growth, GC: m.gc, CPU: m.cpu, OOM: m.oom}
	o.Expected.Live, o.Expected.OffHeap, o.Expected.PageCache = m.live, m.off, m.cache
	if share := m.gcShare(); share > 0 {
		o.GCShare = &share
	}
	return o
}

// Huge is what huge pages would do.
type Huge struct {
	Gain  float64 `json:"gain_bytes"` // heap that could be on huge pages now, all pods
	Tax   float64 `json:"page_fault_cores"`
	Bloat float64 `json:"bloat_bytes"`
	Do    string  `json:"do"`
}

// Least gains by which huge pages are advised.
const (
	leastGain = 256 * mib // of heap
	leastTax  = .01       // of the CPU time, of page faults
)

func hugePages(h *observed.History, m *model) *Huge {
	gain, _ := h.Best(rules.HugeGain)
	v := gain.Quantile(.5)
	if math.IsNaN(v) || v < leastGain {
		return nil
	}
	out := &Huge{Gain: v}
	if bloat, _ := h.Best(rules.Bloat); len(bloat.Known()) > 0 {
		out.Bloat = bloat.Quantile(.5)
	}
	if faults := h.Class[rules.Agent]["page_faults"]; len(faults.Known()) > 0 {
		out.Tax = faults.Mean()
	}
	if m.cpu != nil && out.Tax < leastTax**m.cpu && v/m.pods < gib {
		return nil
	}
	out.Do = fmt.Sprintf("%s of heap could be on huge pages: try it on one pod with the label folio.dev/collapse=true (folio-agent act), and compare CPU time and latency", unit.Bytes(v))
	return out
}
