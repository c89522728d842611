package live

import (
	"slices"
	"time"
)

// A Record is what a search of a running process did to it, in order. Sizes are bytes.
type Record struct {
	PID  int    `json:"pid"`
	Name string `json:"name" redact:"keep"` // the kernel's
	// The settings before, which were restored.
	GOGC         string  `json:"gogc" redact:"keep"`
	MemLimit     *uint64 `json:"gomemlimit_bytes"`
	BlockSeconds float64 `json:"block_seconds"`                     // for which a block counts at least
	Requests     string  `json:"requests,omitempty" redact:"blank"` // who counted them
	Before       Share   `json:"before"`                            // any change
	Guardrails   Rails   `json:"guardrails"`
	Blocks       []Block `json:"blocks"` // in order
	NotTried     []Not   `json:"not_tried"`
	// Timeline is of all that time.
	Timeline Timeline `json:"timeline"`
	Restored bool     `json:"restored"` // the settings are those from before
}

// Rails are the bounds that a setting must keep.
type Rails struct {
	MemoryBytes *uint64  `json:"memory_bytes"` // of the process; null for none but the machine's
	Memory      string   `json:"memory" redact:"prose"`
	P99         *float64 `json:"p99_seconds"`
	Errors      string   `json:"errors,omitempty" redact:"keep"`
}

// A Not is a setting that was not tried.
type Not struct {
	Setting string `json:"setting" redact:"keep"`
	Reason  string `json:"reason" redact:"prose"`
}

// A Block is a stretch of time with one setting. Times are seconds since the search began.
type Block struct {
	Setting string  `json:"setting" redact:"named"` // of the arm
	Start   float64 `json:"start_seconds"`          // when it was set
	Counted float64 `json:"counted_seconds"`        // from when on it counts
	End     float64 `json:"end_seconds"`
	// What follows is of the time that counts; null if there was none.
	CPU       *float64 `json:"cpu_seconds"`
	Allocated *uint64  `json:"allocated_bytes"`
	GCCPU     *float64 `json:"gc_runtime_cpu_seconds"`
	GCCycles  *uint64  `json:"gc_cycles"`
	Peak      *uint64  `json:"peak_bytes"`     // RSS without free memory of the runtime
	PeakRSS   *uint64  `json:"peak_rss_bytes"` // from Start on
	Requests  *float64 `json:"requests"`
	Errors    *float64 `json:"errors"`
	P50       *float64 `json:"p50_seconds"`
	P99       *float64 `json:"p99_seconds"`
	Left      string   `json:"left,omitempty" redact:"prose"` // why it was dropped early
}

// Seconds is for how long the block counts.
func (b *Block) Seconds() float64 { return b.End - b.Counted }

// A Share is the part of CPU time that the GC took, in windows of time: their median with its
// interval.
type Share struct {
	Windows   int     `json:"windows"`
	Seconds   float64 `json:"seconds"` // of all
	Cycles    uint64  `json:"gc_cycles"`
	CPU       float64 `json:"cpu_seconds"`
	Allocated uint64  `json:"allocated_bytes"`
	GC        float64 `json:"gc_cpu_fraction"` // of all windows together
	Lo        float64 `json:"gc_cpu_fraction_lo"`
	Hi        float64 `json:"gc_cpu_fraction_hi"`
}

// A Timeline is the process over time. The lists have one length, but for Requests, which are
// empty if they were not counted. Allocated, CPU and Requests are all since the search began.
type Timeline struct {
	Seconds   []float64 `json:"seconds"`
	RSS       []uint64  `json:"rss_bytes"`
	Heap      []uint64  `json:"heap_bytes"` // objects, with garbage
	Live      []uint64  `json:"live_bytes"`
	Allocated []uint64  `json:"allocated_bytes"`
	CPU       []float64 `json:"cpu_seconds"`
	Requests  []float64 `json:"requests"`
	// Stride is how many readings a value stands for: of sizes the largest.
	Stride int `json:"stride"`

	pending   int
	cpu       time.Duration // the first ones
	allocated uint64
	requests  *float64
}

const mostPoints = 1000

// add adds a reading. A value that stands for several is of the last, but for sizes.
func (t *Timeline) add(at time.Duration, r reading) {
	if t.Stride == 0 {
		t.Stride, t.cpu, t.allocated = 1, r.cpu, r.gc.TotalAlloc
	}
	requests := 0.0
	if n := len(t.Requests); n > 0 {
		requests = t.Requests[n-1]
	}
	if r.requests != nil {
		if t.requests == nil {
			t.requests, t.Requests = &r.requests.count, make([]float64, len(t.Seconds))
		}
		requests = r.requests.count - *t.requests
	}
	if t.pending == 0 {
		if len(t.Seconds) == mostPoints {
			t.halve()
		}
		t.Seconds, t.RSS, t.Heap, t.Live = append(t.Seconds, 0), append(t.RSS, 0), append(t.Heap, 0), append(t.Live, 0)
		t.Allocated, t.CPU = append(t.Allocated, 0), append(t.CPU, 0)
		if t.requests != nil {
			t.Requests = append(t.Requests, 0)
		}
	}
	i := len(t.Seconds) - 1
	t.Seconds[i], t.Allocated[i], t.CPU[i] = at.Seconds(), r.gc.TotalAlloc-t.allocated, (r.cpu - t.cpu).Seconds()
	t.RSS[i], t.Heap[i], t.Live[i] = max(t.RSS[i], r.rss), max(t.Heap[i], r.gc.Allocated), max(t.Live[i], r.gc.Live)
	if t.requests != nil {
		t.Requests[i] = requests
	}
	t.pending = (t.pending + 1) % t.Stride
}

// halve puts neighbours together.
func (t *Timeline) halve() {
	n := len(t.Seconds) / 2
	for i := range n {
		a, b := 2*i, 2*i+1
		t.Seconds[i], t.Allocated[i], t.CPU[i] = t.Seconds[b], t.Allocated[b], t.CPU[b]
		t.RSS[i], t.Heap[i], t.Live[i] = max(t.RSS[a], t.RSS[b]), max(t.Heap[a], t.Heap[b]), max(t.Live[a], t.Live[b])
		if t.requests != nil {
			t.Requests[i] = t.Requests[b]
		}
	}
	t.Seconds, t.RSS, t.Heap, t.Live, t.Allocated, t.CPU = t.Seconds[:n], t.RSS[:n], t.Heap[:n], t.Live[:n], t.Allocated[:n], t.CPU[:n]
	if t.requests != nil {
		t.Requests = t.Requests[:n]
	}
	t.Stride *= 2
}

// Valid reports whether the lists have one length and times are in order: a file may be anybody's.
func (t *Timeline) Valid() bool {
	n := len(t.Seconds)
	for _, l := range []int{len(t.RSS), len(t.Heap), len(t.Live), len(t.Allocated), len(t.CPU)} {
		if l != n {
			return false
		}
	}
	return (len(t.Requests) == 0 || len(t.Requests) == n) && slices.IsSorted(t.Seconds)
}
