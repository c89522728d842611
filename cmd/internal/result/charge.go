package result

import (
	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/remedy"
)

// A Charge is what a memory cgroup is charged for, in parts that add up to it.
type Charge struct {
	Header
	Cgroup  string  `json:"cgroup" redact:"drop"`
	Version int     `json:"cgroup_version"`
	Charged uint64  `json:"charged_bytes"`
	Limit   *uint64 `json:"limit_bytes"`         // in effect; null for none
	Moved   int64   `json:"charged_drift_bytes"` // by how much the charge moved while it was read

	// Parts are in the order in which they are shown. With Unexplained and less Excess, of which
	// one is 0, they add up to Charged.
	Parts       []ChargePart `json:"parts"`
	Unexplained uint64       `json:"unexplained_bytes"`
	Excess      uint64       `json:"excess_bytes"`
	// Reserve is how much of Unexplained the kernel may have charged in advance.
	Reserve uint64 `json:"reserve_bytes"`

	// Of the page cache.
	Dirty     *uint64 `json:"cache_dirty_bytes"`
	Writeback *uint64 `json:"cache_writeback_bytes"`
	Mapped    *uint64 `json:"cache_mapped_bytes"` // with shared memory
	LazyFree  uint64  `json:"lazy_free_bytes"`    // of anonymous memory: freed by MADV_FREE

	// Apart is in the RSS of processes and not charged, or in that of several.
	Apart []ChargeApart `json:"not_charged"`
	Swap  *uint64       `json:"swap_bytes"`        // not part of Charged
	TCP   *uint64       `json:"tcp_buffers_bytes"` // of version 1; not part of Charged

	Advice    []ChargeAdvice  `json:"advice"`
	Processes []ChargeProcess `json:"processes"` // those with most memory first
	Seconds   float64         `json:"reading_seconds"`
	Notes     []string        `json:"notes" redact:"prose"`
}

// A ChargePart is a part of the charge.
type ChargePart struct {
	Kind  string `json:"kind" redact:"keep"`
	Bytes uint64 `json:"bytes"`
	// Back says whether it comes back by itself under pressure: yes, no, partly, or swap.
	Back string `json:"reclaimable" redact:"keep"`
	How  string `json:"how" redact:"keep"` // read, computed, or remainder
	// Change is since the first reading of --watch.
	Change *int64 `json:"change_bytes,omitempty"`
	// Of names what it may be; each has at most the part.
	Of []MemoryShare `json:"of,omitempty"`
}

// A ChargeApart is memory that is in RSS and not charged.
type ChargeApart struct {
	Kind  string `json:"kind" redact:"keep"`
	Bytes uint64 `json:"bytes"`
}

// A ChargeAdvice is what is to be done about a part.
type ChargeAdvice struct {
	Kind  string `json:"kind" redact:"keep"`
	Bytes uint64 `json:"bytes"`
	What  string `json:"what" redact:"prose"`
	Means string `json:"means" redact:"keep"`
	Do    string `json:"do" redact:"keep"`
	Code  string `json:"code,omitempty" redact:"drop"`
}

// A ChargeProcess is a process of the cgroup.
type ChargeProcess struct {
	ProcessID
	RSS       uint64     `json:"rss_bytes"`
	Anonymous *uint64    `json:"anonymous_bytes"`
	File      *uint64    `json:"file_bytes"`
	Shared    *uint64    `json:"shared_bytes"`
	Waterfall *Waterfall `json:"waterfall"`             // null: it could not be read
	Why       *string    `json:"unread" redact:"prose"` // why all or some of its parts are not known
}

// NewCharge makes the file of a charge.
func NewCharge(folio string, c *charge.Charge) *Charge {
	f := &Charge{
		Header: NewHeader(ChargeSchema, KindCharge, folio), Cgroup: c.Dir, Version: 1, Charged: c.Usage, Limit: c.Limit, Moved: c.Moved,
		Parts: []ChargePart{}, Unexplained: c.Unexplained, Excess: c.Excess, Reserve: c.Reserve, Dirty: c.Dirty, Writeback: c.Writeback, Mapped: c.Mapped,
		LazyFree: c.LazyFree, Apart: []ChargeApart{}, Swap: c.Swap, TCP: c.TCP, Advice: []ChargeAdvice{}, Processes: []ChargeProcess{},
		Seconds: c.Took.Seconds(), Notes: list(c.Notes),
	}
	if c.Unified {
		f.Version = 2
	}
	for _, p := range c.Parts {
		part := ChargePart{Kind: string(p.Kind), Bytes: p.Bytes, Back: string(p.Back), How: string(p.How)}
		for _, of := range p.Of {
			part.Of = append(part.Of, MemoryShare(of))
		}
		f.Parts = append(f.Parts, part)
	}
	for _, a := range c.Apart {
		f.Apart = append(f.Apart, ChargeApart{string(a.Kind), a.Bytes})
	}
	for _, a := range c.Advice {
		f.Advice = append(f.Advice, ChargeAdvice{string(a.Kind), a.Bytes, a.What, a.Means, a.Do, a.Code})
	}
	for _, p := range c.Processes {
		f.Processes = append(f.Processes, ChargeProcess{
			ProcessID: ProcessID{PID: p.PID, Command: list(p.Command), Name: p.Name, UID: p.UID, IsGo: p.IsGo, GoVersion: text(p.GoVersion), Module: text(p.Module)},
			RSS:       p.RSS, Anonymous: p.Anonymous, File: p.File, Shared: p.Shared, Waterfall: newWaterfall(p.Waterfall, remedy.Remedies{}), Why: text(p.Why),
		})
	}
	return f
}

// Since notes by how much each part changed since an earlier reading of the cgroup: one that is
// gone has a part of 0.
func (f *Charge) Since(first *Charge) {
	for i := range f.Parts {
		p := &f.Parts[i]
		p.Change = new(int64(p.Bytes))
		if before := first.Part(p.Kind); before != nil {
			p.Change = new(int64(p.Bytes) - int64(before.Bytes))
		}
	}
	for _, p := range first.Parts {
		if f.Part(p.Kind) == nil && p.Bytes > 0 {
			f.Parts = append(f.Parts, ChargePart{Kind: p.Kind, Back: p.Back, How: p.How, Change: new(-int64(p.Bytes))})
		}
	}
}

// Part returns a part by its kind; nil if there is none.
func (f *Charge) Part(kind string) *ChargePart {
	for i := range f.Parts {
		if f.Parts[i].Kind == kind {
			return &f.Parts[i]
		}
	}
	return nil
}

// Back is how much of the charge comes back by itself, and Stays how much does not; of the rest
// that is not known.
func (f *Charge) Back() (back, stays uint64) {
	for _, p := range f.Parts {
		switch charge.Back(p.Back) {
		case charge.Yes, charge.Swap:
			back += p.Bytes
		case charge.No:
			stays += p.Bytes
		}
	}
	lazy := min(stays, f.LazyFree) // it is of parts that else stay
	return back + lazy, stays - lazy
}

// Title is the name of the part for people.
func (p ChargePart) Title() string { return charge.Kind(p.Kind).Title() }

// Title is the name of what is not charged, for people.
func (a ChargeApart) Title() string { return charge.ApartTitle(charge.Kind(a.Kind)) }

// JSON returns the file's text; Line returns it in one line.
func (f *Charge) JSON() ([]byte, error) { return indented(f) }
func (f *Charge) Line() ([]byte, error) { return inLine(f) }
