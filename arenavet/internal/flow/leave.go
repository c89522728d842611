package flow

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// atReturn is what is known at a return, after the deferred calls.
type atReturn struct {
	instr *ssa.Return
	state *state
}

// outside reports whether an object was there before the function was called, so
// that it may be there afterwards.
func (f *function) outside(id identity) bool {
	switch id := id.(type) {
	case *ssa.Global, *ssa.Parameter, *ssa.FreeVar:
		return true
	case *ssa.Send, *ssa.Select, *ssa.Go:
		return true
	case *ssa.Call:
		w, _ := spawned(&id.Call)
		return w
	case content:
		return f.outside(id.in)
	case inner:
		return f.outside(id.in)
	}
	return false
}

// stored is a value of an arena that is put into a place.
func (f *function) stored(s *state, instr ssa.Instruction, p place, v value) {
	if !f.outside(p.in) || v.what == anArena || v.what == aMapping {
		return
	}
	if from, ok := f.pathOf(v.region); ok && !slices.Contains(f.sum.Stores, from.Root) {
		f.sum.Stores = append(f.sum.Stores, from.Root)
	}
	if !f.owns(v.region) {
		return
	}
	f.leaves[instr] = true
	f.stays[p] = instr
}

// sent is a value that goes to other goroutines.
func (f *function) sent(s *state, instr ssa.Instruction, x ssa.Value) {
	v := s.of(x)
	if !v.tracked() {
		h, ok := s.holds(v)
		if !ok {
			return
		}
		v = h
	}
	p := place{instr, ""}
	s.cells[p] = v
	if v.what != anArena && f.owns(v.region) {
		f.leaves[instr] = true
		f.stays[p] = instr
	}
}

// returns is a return, after the deferred calls.
func (f *function) returns(s *state, r *ssa.Return) {
	if f.told {
		f.ret = append(f.ret, atReturn{r, s.clone()})
	}
	if !f.told || !f.report {
		return
	}
	for n, x := range r.Results {
		v := s.of(x)
		held := ""
		if !v.tracked() {
			if _, ok := f.pathOf(v.id); ok {
				continue // it was the caller's before
			}
			h, ok := s.holds(v)
			if !ok {
				continue
			}
			v, held = h, ", in what is returned,"
		}
		if !f.certain(r, v) {
			continue
		}
		f.pkg.reportReturn(f, r, n, v, held)
	}
	if f.begin == nil {
		for p, v := range s.cells {
			if f.stays[p] != nil && f.certain(r, v) {
				f.left(f.stays[p], v)
			}
		}
	}
}

func (p *pkg) reportReturn(f *function, r *ssa.Return, n int, v value, held string) {
	e := v.end
	c := Escape
	text := fmt.Sprintf("%s of the arena%s is returned, but %s ends it", v.what, held, f.name(e))
	switch {
	case e.mapping:
		c, text = Mapping, fmt.Sprintf("bytes of the mapping are returned, but %s unmaps them", f.name(e))
	case v.what == aHandle:
		c, text = Handle, fmt.Sprintf("a handle is returned, but %s ends its arena", f.name(e))
	case v.what == anArena:
		text = fmt.Sprintf("the arena is returned, but %s ends it", f.name(e))
	case !e.deferred:
		c, text = Use, fmt.Sprintf("memory of the arena%s is returned after %s", held, f.name(e))
	}
	d := f.diagnose(r, text, e)
	if e.deferred && held == "" && v.what == memory && !e.mapping {
		if expr := p.resultExpr(r, n); expr != nil {
			d.Pos, d.End = expr.Pos(), expr.End()
			d.SuggestedFixes = p.cloneFix(expr)
		}
	}
	p.report(c, d)
}

// resultExpr returns the expression of a result.
func (p *pkg) resultExpr(r *ssa.Return, n int) ast.Expr {
	st, ok := p.nodeAt(r.Pos(), func(x ast.Node) bool { _, ok := x.(*ast.ReturnStmt); return ok }).(*ast.ReturnStmt)
	if !ok || n >= len(st.Results) {
		return nil
	}
	return st.Results[n]
}

// cloneFix copies a value that leaves, if a shallow copy is a whole one.
func (p *pkg) cloneFix(e ast.Expr) []analysis.SuggestedFix {
	t := p.pass.TypesInfo.TypeOf(e)
	if t == nil {
		return nil
	}
	var inside types.Type
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsString == 0 {
			return nil
		}
	case *types.Pointer:
		inside = u.Elem()
	case *types.Slice:
		inside = u.Elem()
	default:
		return nil
	}
	if inside != nil && pointers(inside) {
		return nil
	}
	name := p.arenaName(e.Pos())
	if name == "" {
		return nil
	}
	return []analysis.SuggestedFix{{
		Message: "return a copy on the heap",
		TextEdits: []analysis.TextEdit{{Pos: e.Pos(), End: e.Pos(), NewText: []byte(name + ".Clone(")},
			{Pos: e.End(), End: e.End(), NewText: []byte(")")}},
	}}
}

// stayed tells of a value that left the function at an instruction, and that is
// dead at every return from there.
func (f *function) stayed(at ssa.Instruction) {
	for p, i := range f.stays {
		if i != at || len(f.ret) == 0 {
			continue
		}
		var v value
		all := true
		for _, r := range f.ret {
			w, ok := r.state.cells[p]
			if !ok || w.life != dead || w.end == nil {
				all = false
				break
			}
			v = w
		}
		if all {
			f.left(at, v)
		}
	}
}

// left tells of a value that left the function and was ended.
func (f *function) left(at ssa.Instruction, v value) {
	where := ""
	switch at.(type) {
	case *ssa.Send, *ssa.Select:
		if f.order.waitsAfter(f.pkg, at) {
			return
		}
		where = "sent on a channel"
	case *ssa.Go, *ssa.Call:
		if f.order.waitsAfter(f.pkg, at) {
			return
		}
		where = "used by a goroutine"
	default:
		where = "kept outside of the function"
	}
	e := v.end
	var c Category
	var text string
	switch {
	case e.mapping:
		c, text = Mapping, fmt.Sprintf("bytes of the mapping are %s, but %s unmaps them", where, f.name(e))
	case v.what == aHandle:
		c, text = Handle, fmt.Sprintf("a handle is %s, but %s ends its arena", where, f.name(e))
	case v.what == anArena:
		c, text = Escape, fmt.Sprintf("the arena is %s, but %s ends it", where, f.name(e))
	default:
		c, text = Escape, fmt.Sprintf("memory of the arena is %s, but %s ends it", where, f.name(e))
	}
	f.pkg.report(c, f.diagnose(at, text, e))
}

// owns reports whether this function made an arena or mapping.
func (f *function) owns(region identity) bool {
	if f.made[region] != nil {
		return true
	}
	c, ok := region.(*ssa.Call)
	if !ok {
		return false
	}
	a, ok := known(&c.Call)
	return ok && a.effect == mapped
}
