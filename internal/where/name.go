package where

import (
	"strings"

	"github.com/foliomem/folio/internal/perf"
	"github.com/foliomem/folio/internal/symbol"
)

// noPlace stands for a place that there is not.
const noPlace = ^uint32(0)

// at returns the frames at a place, innermost first: one, or more where calls
// were inlined.
func (c *Collector) at(place uint32) []frame {
	if f, ok := c.frames[place]; ok {
		return f
	}
	l := c.places[place]
	f := c.lookup(l)
	c.frames[place] = f
	return f
}

func (c *Collector) lookup(l location) []frame {
	o := c.objects[l.object]
	switch {
	case o.vdso:
		return []frame{{name: o.path, origin: fromKernelPage}}
	case o.memory:
		return []frame{{origin: fromNowhere}}
	case o.syms == nil:
		return []frame{{origin: fromBroken}}
	}
	address, ok := o.syms.Address(l.offset)
	if !ok {
		return []frame{{origin: fromNative}}
	}
	return o.named(o.syms.Lookup(address, l.returns))
}

// named turns the frames of a file into ours.
func (o *object) named(found []symbol.Frame) []frame {
	isGo := o.syms.IsGo()
	if len(found) == 0 {
		if isGo {
			return []frame{{origin: fromBroken}}
		}
		return []frame{{origin: fromNative}}
	}
	frames := make([]frame, len(found))
	for i, f := range found {
		frames[i] = frame{name: f.Func, file: f.File, line: f.Line, origin: fromNative}
		// What cgo links has no file, and no table of Go.
		if isGo && (f.File != "" || strings.Contains(f.Func, ".")) {
			frames[i].origin = fromGo
		}
	}
	return frames
}

// name gives a sample's stack its names.
func (c *Collector) name(e *sampled) *stack {
	s := &stack{inKernel: e.inKernel}
	if c.opts.KernelSymbols != nil {
		for i, n := range e.kernel {
			addr := c.places[n].offset
			if i > 0 && addr > 0 {
				addr--
			}
			s.kernel = append(s.kernel, c.opts.KernelSymbols.Lookup(addr))
		}
	}
	for i, n := range e.user {
		s.user = append(s.user, c.at(n)...)
		if i == 0 {
			if f, ok := c.hidden(e); ok {
				s.user = append(s.user, f...)
			}
		}
	}
	return s
}

// hidden returns the caller of a function without a frame, if that is not on
// the stack: frame pointers lead past it. Who was called from the next frame is
// in the instruction there, though not where in that function it is.
func (c *Collector) hidden(e *sampled) ([]frame, bool) {
	if e.direct || e.folded != "" || len(e.user) < 2 {
		return nil, false
	}
	f := c.callee(e.user[1])
	if f == nil {
		return nil, false
	}
	if leaf := c.at(e.user[0]); leaf[len(leaf)-1].name == f[0].name {
		return nil, false
	}
	return f, true
}

// callee returns the function that is called just before a place, nil if that
// is not known.
func (c *Collector) callee(place uint32) []frame {
	if f, ok := c.callees[place]; ok {
		return f
	}
	f := c.findCallee(place)
	c.callees[place] = f
	return f
}

func (c *Collector) findCallee(place uint32) []frame {
	o, target := c.objects[c.places[place].object], c.target(place)
	if target == 0 || o.syms == nil || !o.syms.IsGo() {
		return nil
	}
	called := o.syms.Lookup(target, false)
	if len(called) == 0 {
		return nil
	}
	outer := called[len(called)-1]
	// Bytes can look like a call. A function starts where one is called.
	if before := o.syms.Lookup(target, true); len(before) > 0 && before[len(before)-1].Func == outer.Func {
		return nil
	}
	return o.named([]symbol.Frame{outer})
}

// classOf returns the class of a sample: for time where it was spent, for a
// fault what the code that faulted was doing.
func (c *Collector) classOf(e *sampled, s *stack) Class {
	if e.folded != "" {
		return e.folded
	}
	if e.kind == perf.Fault {
		return userClass(s.user)
	}
	return classify(s)
}

// sitePlace returns the place in which the site of a stack is.
func (c *Collector) sitePlace(e *sampled) uint32 {
	best := noPlace
	for _, n := range e.user {
		frames := c.at(n)
		i := site(frames)
		if i < 0 {
			continue
		}
		if frames[i].own() {
			return n
		}
		if best == noPlace {
			best = n
		}
	}
	return best
}

// unnamed says whether the code that a sample was in has no name.
func unnamed(s *stack) bool {
	if len(s.user) == 0 {
		return !s.inKernel
	}
	return s.user[0].name == "" && !s.inKernel
}
