package live

import (
	"fmt"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/unit"
)

const (
	// mostMemory is the part of a memory limit, or of the machine, that may be in use.
	mostMemory = 0.9
	// mostStalled is the part of a second that tasks may wait for memory (PSI), or twice what it
	// was before any change.
	mostStalled = 0.2
	// fewRequests is how many tell a rate of errors, or a percentile.
	fewRequests = 100
)

// overMemory says by what the process breaks a bound on memory; "" if it keeps to all.
func (p *Process) overMemory(r reading) string {
	if most := p.opts.MaxRSS; most > 0 && r.rss > most {
		return fmt.Sprintf("RSS %s, more than --max-rss %s", unit.Size(r.rss), unit.Exact(most))
	}
	l, ok, err := p.fs.MemoryLimit(p.gc.PID)
	if ok && err == nil {
		bound := uint64(mostMemory * float64(l.Bytes))
		of := fmt.Sprintf("more than %.0f%% of the memory limit %s of %s", 100*mostMemory, unit.Exact(l.Bytes), l.Level())
		if r.rss > bound {
			return fmt.Sprintf("RSS %s, %s", unit.Size(r.rss), of)
		}
		if n := l.Memory.Fixed(); n != nil && *n > bound {
			return fmt.Sprintf("%s in use in its cgroup, %s", unit.Size(*n), of)
		}
	}
	m, err := p.fs.Meminfo()
	if err == nil && m.MemTotal != nil && m.MemAvailable != nil && float64(*m.MemAvailable) < (1-mostMemory)*float64(*m.MemTotal) {
		return fmt.Sprintf("the machine has %s of %s left, less than %.0f%%", unit.Size(*m.MemAvailable), unit.Size(*m.MemTotal), 100*(1-mostMemory))
	}
	return ""
}

// memoryBound is the largest RSS that the process may have, and why; 0 if only the machine
// bounds it.
func (p *Process) memoryBound() (bytes uint64, why string) {
	bytes, why = p.opts.MaxRSS, "--max-rss"
	if l, ok, err := p.fs.MemoryLimit(p.gc.PID); ok && err == nil {
		if b := uint64(mostMemory * float64(l.Bytes)); bytes == 0 || b < bytes {
			bytes, why = b, fmt.Sprintf("%.0f%% of the memory limit %s of %s", 100*mostMemory, unit.Exact(l.Bytes), l.Level())
		}
	}
	if bytes == 0 {
		return 0, fmt.Sprintf("%.0f%% of the machine", 100*mostMemory)
	}
	return bytes, why
}

// A strain is what a setting does to requests and to the memory of others, from when it was set.
type strain struct {
	first    *totals
	stall    time.Duration // PSI at
	at       time.Time
	stalled  float64 // the part of the last second; -1 if not known
	measured bool
}

// stallOf brings the pressure up to date, once a second.
func (p *Process) stallOf(s *strain, now time.Time) {
	if s.measured && now.Sub(s.at) < time.Second {
		return
	}
	m, ok, err := p.pressure.Read()
	if !ok || err != nil {
		s.stalled = -1
		return
	}
	if s.measured {
		s.stalled = (m.Some - s.stall).Seconds() / now.Sub(s.at).Seconds()
	}
	s.stall, s.at, s.measured = m.Some, now, true
}

// broken says which guardrail a reading breaks; "" for none. Pressure on memory may be of others:
// it speaks against a setting only if ours.
func (p *Process) broken(s *strain, r reading, ours bool) string {
	if why := p.overMemory(r); why != "" {
		return why
	}
	p.stallOf(s, r.at)
	if most := max(mostStalled, 2*p.stalled); ours && s.stalled > most {
		return fmt.Sprintf("tasks waited for memory for %s of a second (PSI), more than %s", unit.Percent(s.stalled), unit.Percent(most))
	}
	if r.requests == nil {
		return ""
	}
	if s.first == nil {
		s.first = r.requests
	}
	return p.overRequests(*s.first, *r.requests)
}

// overRequests says which bound on requests is broken between two readings.
func (p *Process) overRequests(before, now totals) string {
	d := now.since(before)
	if m := p.opts.MaxErrors; m != nil && d.Count >= fewRequests {
		lo, _ := stat.Proportion(min(d.Errors/d.Count, 1), d.Count)
		if surely := int64(lo * d.Count); !m.Allows(surely, int64(d.Count)) {
			return fmt.Sprintf("%.0f of %.0f requests failed, more than --max-errors %s", d.Errors, d.Count, m.Text)
		}
	}
	if most := p.opts.MaxP99; most > 0 && d.Count >= fewRequests {
		slow := longer(most.Seconds(), now.between(before))
		if lo, _ := stat.Proportion(min(slow/d.Count, 1), d.Count); lo > 0.01 {
			text := "above the last bucket"
			if d.P99 != nil {
				text = unit.Seconds(*d.P99)
			}
			return fmt.Sprintf("p99 %s, more than --max-p99 %s", text, unit.Span(most))
		}
	}
	return ""
}
