package profile

import (
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/internal/system/perf"
)

// noPlace stands for a place that there is not.
const noPlace = ^uint32(0)

// at returns the frames at a place, innermost first: one, or more where calls
// were inlined.
func (c *Collector) at(place uint32) []frame {
	if n := len(c.places) - len(c.frames); n > 0 {
		c.frames = append(c.frames, make([][]frame, n)...)
	}
	if c.frames[place] == nil {
		c.frames[place] = c.lookup(c.places[place])
	}
	return c.frames[place]
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
		return o.nameless()
	}
	return o.named(o.syms.Lookup(address, l.returns))
}

// named turns the frames of a file into ours.
func (o *object) named(found []symbol.Frame) []frame {
	isGo := o.syms.IsGo()
	if len(found) == 0 {
		return o.nameless()
	}
	frames := make([]frame, len(found))
	doubt := isGo && o.syms.Doubt() != ""
	for i, f := range found {
		frames[i] = frame{name: f.Func, file: f.File, line: f.Line, start: f.Start, origin: fromNative}
		// What cgo links has no file, and no table of Go.
		if isGo && (f.File != "" || strings.Contains(f.Func, ".")) {
			frames[i].origin, frames[i].doubt = fromGo, doubt
		}
	}
	return frames
}

// nameless is the frame of a place that the file has no name for. A library that is not of
// Go is the program's own work; a program that says nothing of itself may be of Go, and
// have hidden it (garble, other packers).
func (o *object) nameless() []frame {
	if o.program || o.syms.IsGo() {
		return []frame{{origin: fromBroken}}
	}
	return []frame{{origin: fromNative}}
}

// kernelNames returns the names of the kernel's part of a stack, nil if they
// are hidden.
func (c *Collector) kernelNames(e *sampled) (names []string) {
	if c.opts.KernelSymbols == nil {
		return nil
	}
	for i, n := range e.kernel {
		addr := c.places[n].offset
		if i > 0 && addr > 0 {
			addr--
		}
		names = append(names, c.opts.KernelSymbols.Lookup(addr))
	}
	return names
}

// user yields the frames of the program's part of a stack.
func (c *Collector) user(e *sampled) frames {
	return func(yield func(*frame) bool) {
		for i, n := range e.user {
			at := c.at(n)
			for j := range at {
				if !yield(&at[j]) {
					return
				}
			}
			if i > 0 {
				continue
			}
			if f, ok := c.hidden(e); ok && !yield(&f[0]) {
				return
			}
		}
	}
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
func (c *Collector) classOf(e *sampled) Class {
	if e.folded != "" {
		return e.folded
	}
	if e.kind == perf.Fault || !e.inKernel {
		return userClass(c.user(e))
	}
	names := c.kernelNames(e)
	return classify(kernelSide{in: true, named: len(names) > 0, rules: table.all(names)}, c.user(e))
}

// sitePlace returns the place in which the site of a stack is.
func (c *Collector) sitePlace(e *sampled) uint32 {
	best := noPlace
	for _, n := range e.user {
		at := c.at(n)
		for j := range at {
			if at[j].traits().own {
				return n
			}
			if best == noPlace && at[j].traits().library {
				best = n
			}
		}
	}
	return best
}

// unnamed says whether the code that a sample was in has no name.
func (c *Collector) unnamed(e *sampled) bool {
	if e.inKernel {
		return false
	}
	return len(e.user) == 0 || c.at(e.user[0])[0].name == ""
}
