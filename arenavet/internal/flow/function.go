package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// function is a function that is analysed.
type function struct {
	pkg    *pkg
	fn     *ssa.Function
	fields map[place]*types.Var
	kinds  map[identity]what
	made   map[identity]ssa.Value // arenas that this function made
	sum    *Summary
	mayEnd []Path

	// Found in the run from the entry, where more runs begin.
	ends    map[ssa.Instruction]bool // what ends an arena
	leaves  map[ssa.Instruction]bool // where a value leaves the function
	allocAt map[ssa.Instruction]identity

	in      map[*ssa.BasicBlock]*state // of the run
	entry   map[*ssa.BasicBlock]*state // of the run from the entry
	begin   ssa.Instruction            // where the run began, nil for the entry
	told    bool                       // the run is done: tell what is found
	report  bool                       // anything is to be told at all
	order   *order
	stays   map[place]ssa.Instruction // what left the function, and where
	ret     []atReturn                // of the run, once it is told
	again   map[ssa.Instruction]bool  // uses to look at once more
	barrier ssa.Instruction           // where the run ends
	only    identity                  // the arena whose leaks are looked for: it is not nil

	spawns    []spawn
	deferEnds map[identity]bool
}

// analyze executes a function. With report, mistakes are reported.
func (p *pkg) analyze(fn *ssa.Function, report bool) *Summary {
	f := &function{
		pkg: p, fn: fn, fields: map[place]*types.Var{}, kinds: map[identity]what{}, made: map[identity]ssa.Value{},
		sum: new(Summary), ends: map[ssa.Instruction]bool{}, leaves: map[ssa.Instruction]bool{},
		allocAt: map[ssa.Instruction]identity{}, stays: map[place]ssa.Instruction{}, again: map[ssa.Instruction]bool{},
		deferEnds: map[identity]bool{},
	}
	if !f.concerned() {
		s := &Summary{Results: make([]Source, fn.Signature.Results().Len())}
		return s
	}
	f.run(fn.Blocks[0], 0, newState())
	f.entry = f.in
	f.tell()
	f.summarize()
	if !report {
		return f.sum
	}
	f.report = true
	f.order = newOrder(fn)
	f.tell()
	ends, leaves := f.ends, f.leaves
	for _, b := range fn.Blocks {
		for n, i := range b.Instrs {
			if f.entry[b] == nil || !ends[i] && !leaves[i] {
				continue
			}
			f.rerun(b, n)
			if leaves[i] {
				f.stayed(i)
			}
			// What is dead at a use when it is first come to.
			again := f.again
			f.again = map[ssa.Instruction]bool{}
			for u := range again {
				f.barrier = u
				f.rerun(b, n)
			}
			f.barrier = nil
		}
	}
	f.begin = nil
	f.leaks()
	f.goroutines()
	return f.sum
}

// concerned reports whether a function has anything to do with arenas: it
// has a value of their types, or calls a function that has.
func (f *function) concerned() bool {
	for _, p := range f.fn.Params {
		if mayLead(p.Type()) {
			return true
		}
	}
	for _, b := range f.fn.Blocks {
		for _, i := range b.Instrs {
			if v, ok := i.(ssa.Value); ok && itemOf(v.Type()) != nothing {
				return true
			}
			if c, ok := i.(ssa.CallInstruction); ok {
				if _, ok := known(c.Common()); ok {
					return true
				}
				if s := f.summary(c.Common()); s != nil && (!s.trivial() || len(s.Uses) > 0) {
					return true
				}
			}
		}
	}
	if f.fn.Parent() != nil && len(f.fn.FreeVars) > 0 {
		return true
	}
	return returnsField(f.fn)
}

// returnsField reports whether a function is small and returns a part of an
// argument, or the argument: callers want to know.
func returnsField(fn *ssa.Function) bool {
	if fn.Signature.Results().Len() == 0 || len(fn.Params) == 0 || len(fn.Blocks) > 8 {
		return false
	}
	for r := range fn.Signature.Results().Variables() {
		if pointers(r.Type()) {
			return true
		}
	}
	return false
}

// rerun runs from after an instruction of the entry's run.
func (f *function) rerun(b *ssa.BasicBlock, n int) {
	f.told, f.begin, f.ret = false, nil, nil
	s := f.entry[b].clone()
	for _, i := range b.Instrs[:n+1] {
		f.step(s, i)
	}
	f.begin = b.Instrs[n]
	f.run(b, n+1, s.clone())
	f.told = true
	f.block(b, n+1, s, nil)
	f.tell()
}

// run executes from an instruction of a block until nothing changes.
func (f *function) run(b *ssa.BasicBlock, n int, s *state) {
	f.in = map[*ssa.BasicBlock]*state{}
	f.told, f.ret = false, nil
	queue := map[*ssa.BasicBlock]bool{}
	pass := func(to *ssa.BasicBlock, s *state) {
		if old := f.in[to]; old == nil {
			f.in[to] = s
			queue[to] = true
		} else if old.join(s) {
			queue[to] = true
		}
	}
	if n == 0 {
		pass(b, s)
	} else {
		f.block(b, n, s, pass)
	}
	for steps := 0; len(queue) > 0 && steps < 100*len(f.fn.Blocks)+1000; steps++ {
		for _, b := range f.fn.Blocks {
			if queue[b] {
				delete(queue, b)
				f.block(b, 0, f.in[b].clone(), pass)
				break
			}
		}
	}
}

// block executes the instructions of a block from n on.
func (f *function) block(b *ssa.BasicBlock, n int, s *state, pass func(*ssa.BasicBlock, *state)) {
	for _, i := range b.Instrs[n:] {
		f.step(s, i)
		if i == f.barrier {
			return
		}
	}
	if pass == nil {
		return
	}
	for at, to := range b.Succs {
		if f.excluded(s, b, at) {
			continue
		}
		out := s
		if len(b.Succs) > 1 || len(to.Instrs) > 0 {
			out = s.clone()
		}
		f.phis(out, b, to, at)
		pass(to, out)
	}
}

// phis sets the phis of a block for one way into it.
func (f *function) phis(s *state, from, to *ssa.BasicBlock, succ int) {
	edge := -1
	nth := 0
	for i := range succ {
		if from.Succs[i] == to {
			nth++
		}
	}
	for i, p := range to.Preds {
		if p == from {
			if nth == 0 {
				edge = i
				break
			}
			nth--
		}
	}
	if edge < 0 {
		return
	}
	type set struct {
		phi *ssa.Phi
		v   value
	}
	var sets []set
	for _, i := range to.Instrs {
		phi, ok := i.(*ssa.Phi)
		if !ok {
			break
		}
		if pointers(phi.Type()) {
			sets = append(sets, set{phi, s.of(phi.Edges[edge])})
		}
	}
	// A variable that gets another arena is another region from now on.
	for _, x := range sets {
		if itemOf(x.phi.Type()) == nothing || x.v.id == identity(x.phi) {
			continue
		}
		s.lose(x.phi)
		for i, y := range sets {
			if y.v.region == identity(x.phi) && y.v.life != dead {
				sets[i].v.region, sets[i].v.what, sets[i].v.life, sets[i].v.end = nil, nothing, alive, nil
			}
		}
	}
	for _, x := range sets {
		if x.v.id == identity(x.phi) {
			s.vals[x.phi] = x.v
			continue
		}
		at := x.v.at()
		isFresh := s.fresh[at.in] || x.v.empty
		s.forget(x.phi)
		if !x.v.empty {
			s.copy(at, place{x.phi, ""})
		}
		if isFresh {
			s.fresh[x.phi] = true
		}
		v := x.v
		if single(x.phi) == nil {
			v.id = x.phi
		}
		s.vals[x.phi] = v
	}
}

// single returns the one value that a phi can have beside constants.
func single(phi *ssa.Phi) ssa.Value {
	var one ssa.Value
	for _, e := range phi.Edges {
		if _, ok := e.(*ssa.Const); ok || e == phi {
			continue
		}
		if one != nil && one != e {
			return nil
		}
		one = e
	}
	return one
}

// tell executes every block once more, to tell what is found.
func (f *function) tell() {
	f.told = true
	for _, b := range f.fn.Blocks {
		if s := f.in[b]; s != nil {
			f.block(b, 0, s.clone(), nil)
		}
	}
	f.told = false
}
