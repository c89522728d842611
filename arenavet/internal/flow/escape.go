package flow

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// escapes reports whether an arena, or an object that has one, may be freed by
// others: it is put somewhere, or passed to who may keep it. That it is returned
// counts only if returned is nil.
func (f *function) escapes(v ssa.Value, seen map[ssa.Value]bool, returned *bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	refs := v.Referrers()
	if refs == nil {
		return true
	}
	for _, r := range *refs {
		if f.escapesAt(v, r, seen, returned) {
			return true
		}
	}
	return false
}

// escapesAt is escapes for one use.
func (f *function) escapesAt(v ssa.Value, at ssa.Instruction, seen map[ssa.Value]bool, returned *bool) bool {
	switch r := at.(type) {
	case *ssa.Call:
		return f.keeps(&r.Call, v, r, seen, returned)
	case *ssa.Defer:
		return f.keeps(&r.Call, v, nil, seen, returned)
	case *ssa.Phi, *ssa.Extract, *ssa.ChangeType:
		return f.escapes(r.(ssa.Value), seen, returned)
	case *ssa.Return:
		if returned == nil {
			return true
		}
		*returned = true
		return false
	case *ssa.Store:
		if r.Addr == v {
			return false
		}
		return f.placeEscapes(r.Addr, seen, returned)
	case *ssa.BinOp, *ssa.DebugRef, *ssa.If:
		return false
	case *ssa.FieldAddr:
		return itemOf(v.Type()) == nothing && f.fieldEscapes(r, seen, returned)
	case *ssa.UnOp:
		// A copy of a struct, or what a pointer to a pointer leads to.
		return itemOf(v.Type()) == nothing && mayLead(r.Type()) && f.escapes(r, seen, returned)
	case *ssa.Field:
		return mayLead(r.Type()) && f.escapes(r, seen, returned)
	case *ssa.MakeClosure:
		return f.closureEscapes(r, v, seen, returned)
	}
	return true
}

// mayLead reports whether a value of a type may lead to an arena: the arena, and
// structs that have one.
func mayLead(t types.Type) bool {
	if itemOf(t) != nothing {
		return true
	}
	seen := map[types.Type]bool{}
	var search func(t types.Type, depth int) bool
	search = func(t types.Type, depth int) bool {
		t = types.Unalias(t)
		if seen[t] || depth > 4 {
			return false
		}
		seen[t] = true
		if itself(t) != nothing {
			return true
		}
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			return search(u.Elem(), depth+1)
		case *types.Struct:
			for f := range u.Fields() {
				if search(f.Type(), depth+1) {
					return true
				}
			}
		case *types.Interface, *types.Signature, *types.TypeParam:
			return depth == 0
		}
		return false
	}
	return search(t, 0)
}

// fieldEscapes follows what is read from a field of an object.
func (f *function) fieldEscapes(a ssa.Value, seen map[ssa.Value]bool, returned *bool) bool {
	if seen[a] {
		return false
	}
	seen[a] = true
	if itemOf(a.Type()) != nothing { // an arena that is a part of the object
		return f.escapes(a, map[ssa.Value]bool{}, returned)
	}
	for _, r := range *a.Referrers() {
		switch r := r.(type) {
		case *ssa.UnOp:
			if mayLead(r.Type()) && f.escapes(r, seen, returned) {
				return true
			}
		case *ssa.Store:
			if r.Val == a {
				return true
			}
		case *ssa.FieldAddr:
			if f.fieldEscapes(r, seen, returned) {
				return true
			}
		case *ssa.DebugRef, *ssa.IndexAddr:
		default:
			e := a.Type().Underlying().(*types.Pointer).Elem()
			if mayLead(e) {
				return true
			}
		}
	}
	return false
}

// placeEscapes reports whether an arena that is put into a place escapes.
func (f *function) placeEscapes(addr ssa.Value, seen map[ssa.Value]bool, returned *bool) bool {
	switch a := addr.(type) {
	case *ssa.Alloc:
		return f.variableEscapes(a, seen, returned)
	case *ssa.FreeVar:
		return !f.pkg.settled(a) || f.variableEscapes(a, seen, returned)
	case *ssa.FieldAddr:
		if x, ok := a.X.(*ssa.Alloc); ok { // a struct that was made here
			return f.escapes(x, seen, returned)
		}
	}
	return true
}

// variableEscapes reports whether an arena in a variable escapes.
func (f *function) variableEscapes(a ssa.Value, seen map[ssa.Value]bool, returned *bool) bool {
	if seen[a] {
		return false
	}
	seen[a] = true
	for _, r := range *a.Referrers() {
		switch r := r.(type) {
		case *ssa.Store:
			if r.Val == a {
				return true
			}
		case *ssa.UnOp:
			if f.escapes(r, seen, returned) {
				return true
			}
		case *ssa.MakeClosure:
			if f.closureEscapes(r, a, seen, returned) {
				return true
			}
		case *ssa.DebugRef:
		case *ssa.FieldAddr:
			if f.fieldEscapes(r, seen, returned) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// closureEscapes reports whether an arena escapes by a closure that captured it, such as the
// body of a range over a function. One that only allocates from it is not a reason. One that
// may free it is, unless it is deferred; and one that puts memory of it into a variable
// around it, which may outlive the arena's function.
func (f *function) closureEscapes(m *ssa.MakeClosure, v ssa.Value, seen map[ssa.Value]bool, returned *bool) bool {
	fn, ok := m.Fn.(*ssa.Function)
	if !ok || fn.Synthetic != "" && fn.Synthetic != rangeBody { // a method value, such as a.Free
		return true
	}
	sum := f.pkg.sums[fn]
	for n, b := range m.Bindings {
		if b == v && (sum != nil && slices.Contains(sum.Stores, len(fn.Params)+n) || f.variableEscapes(fn.FreeVars[n], seen, returned)) {
			return true
		}
	}
	if fn.Synthetic == rangeBody && defers(fn) {
		return true // they run at the end of the function around it
	}
	return endsSomething(sum) && !deferredOnly(m)
}

func endsSomething(s *Summary) bool { return s == nil || len(s.MayEnd)+len(s.Ends) > 0 }

func deferredOnly(m *ssa.MakeClosure) bool {
	for _, r := range *m.Referrers() {
		switch r.(type) {
		case *ssa.Defer, *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}

// keeps reports whether a function may keep an argument; result is what it returns.
func (f *function) keeps(c *ssa.CallCommon, v ssa.Value, result *ssa.Call, seen map[ssa.Value]bool, returned *bool) bool {
	if c.Value == v {
		return true
	}
	if _, ok := known(c); ok {
		return false
	}
	if quiet(c) {
		return false
	}
	s := f.summary(c)
	if s == nil {
		return true
	}
	for n, a := range arguments(c) {
		if a != v {
			continue
		}
		if slices.Contains(s.Keeps, n) {
			return true
		}
		back := slices.Contains(s.Holds, n) || slices.ContainsFunc(s.Results, func(r Source) bool { return r.Kind == same && r.Path.Root == n })
		if back && result != nil && f.escapes(result, seen, returned) {
			return true
		}
	}
	return false
}

// rangeBody is the [ssa.Function.Synthetic] of the body of a range over a function.
const rangeBody = "range-over-func yield"

func defers(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		for _, i := range b.Instrs {
			if _, ok := i.(*ssa.Defer); ok {
				return true
			}
		}
	}
	return false
}
