package flow

import (
	"go/token"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// order answers what comes before and after what in a function.
type order struct {
	fn   *ssa.Function
	post []map[int]bool // the blocks that every way from a block to a return leads through

	bodies map[*ssa.BasicBlock]map[*ssa.BasicBlock]bool
}

func newOrder(fn *ssa.Function) *order {
	o := &order{fn: fn, post: make([]map[int]bool, len(fn.Blocks))}
	returns := func(b *ssa.BasicBlock) bool {
		_, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		return ok
	}
	for changed := true; changed; {
		changed = false
		for n := len(fn.Blocks) - 1; n >= 0; n-- {
			b := fn.Blocks[n]
			var all map[int]bool // nil: every block, since no way leads to a return
			if returns(b) {
				all = map[int]bool{n: true}
			}
			for _, s := range b.Succs {
				p := o.post[s.Index]
				if p == nil {
					continue
				}
				both := map[int]bool{n: true}
				for k := range p {
					if all == nil || all[k] {
						both[k] = true
					}
				}
				all = both
			}
			if all != nil && (o.post[n] == nil || len(all) != len(o.post[n])) {
				o.post[n] = all
				changed = true
			}
		}
	}
	return o
}

// index returns where in its block an instruction is.
func index(i ssa.Instruction) int {
	for n, x := range i.Block().Instrs {
		if x == i {
			return n
		}
	}
	return -1
}

// certain reports whether a comes to b: on every way to a return, or, in a loop,
// on every way back to a.
func (o *order) certain(a, b ssa.Instruction) bool {
	x, y := a.Block(), b.Block()
	if a == b {
		return o.each(x)
	}
	if x == y {
		return index(b) > index(a) || o.reaches(x, x, nil)
	}
	return o.sure(x, y, 0)
}

// each reports whether a loop comes to a block in each round.
func (o *order) each(x *ssa.BasicBlock) bool {
	for h, body := range o.loops() {
		if body[x] && !o.reaches(h, h, func(b *ssa.BasicBlock) bool { return b == x || !body[b] }) {
			return true
		}
	}
	return false
}

// sure is certain for blocks. Loops count as executed at least once.
func (o *order) sure(x, y *ssa.BasicBlock, depth int) bool {
	if p := o.post[x.Index]; p != nil && p[y.Index] {
		return true
	}
	avoid := func(b *ssa.BasicBlock) bool { return b == y }
	if o.reaches(x, y, nil) && o.reaches(y, x, nil) && !o.reaches(x, x, avoid) {
		return true
	}
	if depth > 8 {
		return false
	}
	for h, body := range o.loops() {
		if h != y && body[y] && !body[x] && !o.reaches(h, h,
			func(b *ssa.BasicBlock) bool { return b == y || !body[b] }) && o.sure(x, h, depth+1) {
			return true
		}
	}
	return false
}

// loops returns the blocks of each loop by the block that it begins with.
func (o *order) loops() map[*ssa.BasicBlock]map[*ssa.BasicBlock]bool {
	if o.bodies != nil {
		return o.bodies
	}
	o.bodies = map[*ssa.BasicBlock]map[*ssa.BasicBlock]bool{}
	for _, t := range o.fn.Blocks {
		for _, h := range t.Succs {
			if !h.Dominates(t) {
				continue
			}
			if o.bodies[h] == nil {
				o.bodies[h] = map[*ssa.BasicBlock]bool{h: true}
			}
			body := o.bodies[h]
			var back func(b *ssa.BasicBlock)
			back = func(b *ssa.BasicBlock) {
				if !body[b] {
					body[b] = true
					for _, p := range b.Preds {
						back(p)
					}
				}
			}
			back(t)
		}
	}
	return o.bodies
}

// reaches reports whether a way leads from the end of a to b that does not enter a
// block to avoid.
func (o *order) reaches(a, b *ssa.BasicBlock, avoid func(*ssa.BasicBlock) bool) bool {
	seen := map[*ssa.BasicBlock]bool{}
	var search func(x *ssa.BasicBlock) bool
	search = func(x *ssa.BasicBlock) bool {
		for _, s := range x.Succs {
			if seen[s] || avoid != nil && avoid(s) {
				continue
			}
			seen[s] = true
			if s == b || search(s) {
				return true
			}
		}
		return false
	}
	return search(a)
}

// before reports whether b can come after a without a wait for other goroutines
// in between.
func (o *order) before(p *pkg, a, b ssa.Instruction) bool {
	x, y := a.Block(), b.Block()
	from, to := index(a), index(b)
	if x == y && to > from {
		return !p.waits(x.Instrs[from+1 : to])
	}
	if p.waits(x.Instrs[from+1:]) || p.waits(y.Instrs[:to]) {
		return false
	}
	return o.reaches(x, y, func(s *ssa.BasicBlock) bool { return s != y && p.waits(s.Instrs) })
}

// waitsAfter reports whether the function may wait for other goroutines after
// an instruction, or when it returns.
func (o *order) waitsAfter(p *pkg, a ssa.Instruction) bool {
	if p.waits(a.Block().Instrs[index(a)+1:]) {
		return true
	}
	for _, b := range o.fn.Blocks {
		if o.reaches(a.Block(), b, nil) && p.waits(b.Instrs) {
			return true
		}
		for _, i := range b.Instrs {
			if d, ok := i.(*ssa.Defer); ok && p.waitsIn(&d.Call, 0) {
				return true
			}
		}
	}
	return false
}

// waits reports whether instructions may wait for other goroutines.
func (p *pkg) waits(list []ssa.Instruction) bool {
	for _, i := range list {
		if receives(i) {
			return true
		}
		if c, ok := i.(*ssa.Call); ok && p.waitsIn(&c.Call, 0) {
			return true
		}
	}
	return false
}

// receives reports whether an instruction waits for a channel.
func receives(i ssa.Instruction) bool {
	switch i := i.(type) {
	case *ssa.UnOp:
		return i.Op == token.ARROW
	case *ssa.Select:
		return true
	}
	return false
}

// waitsIn reports whether a call may wait, as far as its name and the functions
// of the package tell. What is not known may.
func (p *pkg) waitsIn(c *ssa.CallCommon, depth int) bool {
	if _, ok := c.Value.(*ssa.Builtin); ok {
		return false
	}
	if _, ok := known(c); ok {
		return false
	}
	if c.IsInvoke() {
		return waitName(c.Method.Name())
	}
	fn := c.StaticCallee()
	if fn == nil {
		return true
	}
	if len(fn.Blocks) == 0 || depth > 4 {
		return waitName(fn.Name())
	}
	for _, b := range fn.Blocks {
		for _, i := range b.Instrs {
			if receives(i) {
				return true
			}
			if c, ok := i.(ssa.CallInstruction); ok && p.waitsIn(c.Common(), depth+1) {
				return true
			}
		}
	}
	return false
}

func waitName(name string) bool {
	name = strings.ToLower(name)
	for _, w := range []string{"wait", "stop", "close", "shutdown", "join", "lock", "cancel", "done"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}
