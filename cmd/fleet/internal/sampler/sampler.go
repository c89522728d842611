// Package sampler samples the Go processes of a node in windows: all CPUs at a low rate,
// for a while, then not for a while. What a sample is spent on is told at once, and the
// stack forgotten.
package sampler

import (
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/system/perf"
)

// Rate is in samples per second of CPU time: a prime number, so that it does not beat with
// what programs do ten or a hundred times a second.
const Rate = 19

// ringBytes is the buffer of each CPU. It holds some 3 s of samples with deep stacks.
const ringBytes = 64 << 10

// DrainEvery is how often to call Drain in a window.
const DrainEvery = time.Second

// A Sampler samples one window at a time. It is for the goroutine of its node.
type Sampler struct {
	node    *node.Node
	meter   *profile.Meter
	session *perf.Session
	handler perf.Handler
	kernel  bool
	counts  map[string]uint64
	lost    uint64                // of this window, counted already
	whose   map[int]*node.Process // what the meter knows of this window
}

// New returns a sampler of a node's processes. kernel gives names to the kernel's
// addresses; nil if they are hidden.
func New(n *node.Node, kernel interface{ Lookup(addr uint64) string }) *Sampler {
	s := &Sampler{node: n, meter: profile.NewMeter(&profile.Options{KernelSymbols: kernel}), counts: make(map[string]uint64), whose: make(map[int]*node.Process)}
	s.handler.Sample = s.sample
	return s
}

// Begin begins a window. Its error says why processes cannot be sampled.
func (s *Sampler) Begin() (err error) {
	s.session, err = perf.OpenSystem(perf.Config{Frequency: Rate, RingBytes: ringBytes})
	if err != nil {
		return err
	}
	s.kernel, s.lost = s.session.Info().Kernel, 0
	s.meter.Begin()
	clear(s.whose)
	return nil
}

// Open reports whether a window is open.
func (s *Sampler) Open() bool { return s.session != nil }

// Drain takes the samples up to now.
func (s *Sampler) Drain() error {
	if s.session == nil {
		return nil
	}
	err := s.session.Drain(&s.handler)
	lost := s.session.Lost()
	s.counts[metrics.OutcomeLost] += lost - min(s.lost, lost)
	s.lost = lost
	return err
}

// End ends the window, and settles the account.
func (s *Sampler) End() error {
	if s.session == nil {
		return nil
	}
	err := s.Drain()
	_ = s.session.Close() // nothing was written
	s.session = nil
	if serr := s.node.Scan(); serr != nil {
		return serr
	}
	s.node.Settle(s.kernel)
	return err
}

// Close ends what is open.
func (s *Sampler) Close() {
	if s.session != nil {
		_ = s.session.Close()
		s.session = nil
	}
	s.meter.Close()
}

// Counts are the samples so far, by outcome.
func (s *Sampler) Counts() map[string]uint64 { return s.counts }

func (s *Sampler) sample(sample *perf.Sample) {
	p := s.node.Process(sample.PID)
	if p == nil {
		s.counts[metrics.OutcomeOther]++
		return
	}
	if s.whose[sample.PID] != p {
		mappings, err := perf.Mappings(sample.PID)
		if err != nil {
			s.counts[metrics.OutcomeUnknown]++
			return // it ended
		}
		s.meter.Forget(sample.PID)
		s.whose[sample.PID] = p
		s.meter.Add(sample.PID, mappings)
	}
	class, ok := s.meter.Class(sample)
	p.Sampled(string(class))
	if ok {
		s.counts[metrics.OutcomeClassed]++
	} else {
		s.counts[metrics.OutcomeUnknown]++
	}
}
