package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// survey notes who changes what in the package.
func (p *pkg) survey() {
	for _, fn := range p.funcs {
		for _, b := range fn.Blocks {
			for _, i := range b.Instrs {
				if s, ok := i.(*ssa.Store); ok {
					p.noteStore(fn, s)
				}
				if a, ok := i.(*ssa.Alloc); ok {
					p.noteHandles(a)
					if addressUsed(a) {
						p.leaked[a] = true
					}
				}
			}
		}
	}
}

func (p *pkg) noteStore(fn *ssa.Function, s *ssa.Store) {
	switch a := s.Addr.(type) {
	case *ssa.FieldAddr:
		if alloc, ok := a.X.(*ssa.Alloc); ok && alloc.Comment == "complit" {
			return // an object that is being made
		}
		field := fieldVar(a)
		if p.writers[field] == nil {
			p.writers[field] = map[*ssa.Function]bool{}
		}
		p.writers[field][fn] = true
	case *ssa.Global:
		p.globals[a]++
	case *ssa.Alloc, *ssa.FreeVar:
		if v := variable(a); v != nil {
			if p.stores[v] == nil {
				p.stores[v] = map[*ssa.Function]int{}
			}
			p.stores[v][fn]++
		}
	default:
		if st, ok := s.Val.Type().Underlying().(*types.Struct); ok {
			for f := range st.Fields() { // *p = T{...}
				f = f.Origin()
				if p.writers[f] == nil {
					p.writers[f] = map[*ssa.Function]bool{}
				}
				p.writers[f][fn] = true
			}
		}
	}
}

// noteHandles notes which fields of a struct that is made are handles of an arena
// that is another field.
func (p *pkg) noteHandles(a *ssa.Alloc) {
	arenas := map[ssa.Value]int{}
	type handle struct {
		field *types.Var
		arena ssa.Value
	}
	var handles []handle
	for _, r := range *a.Referrers() {
		fa, ok := r.(*ssa.FieldAddr)
		if !ok {
			continue
		}
		for _, u := range *fa.Referrers() {
			st, ok := u.(*ssa.Store)
			if !ok || st.Addr != fa {
				continue
			}
			switch itemOf(st.Val.Type()) {
			case anArena:
				arenas[st.Val] = fa.Field
			case aHandle:
				h := handle{fieldVar(fa), nil}
				if c, ok := st.Val.(*ssa.Call); ok {
					if k, ok := known(&c.Call); ok && k.effect == handled {
						h.arena = c.Call.Args[0]
					}
				}
				handles = append(handles, h)
			}
		}
	}
	for _, h := range handles {
		n, ok := arenas[h.arena]
		if old, seen := p.siblings[h.field]; seen && old != n || !ok {
			n = -1
		}
		p.siblings[h.field] = n
	}
}

// variable returns the variable that a closure captured.
func variable(v ssa.Value) *ssa.Alloc {
	for {
		switch x := v.(type) {
		case *ssa.Alloc:
			return x
		case *ssa.FreeVar:
			if v = binding(x); v == nil {
				return nil
			}
		default:
			return nil
		}
	}
}

// binding returns what a captured variable is in the function around.
func binding(fv *ssa.FreeVar) ssa.Value {
	fn := fv.Parent()
	n := -1
	for i, v := range fn.FreeVars {
		if v == fv {
			n = i
		}
	}
	if fn.Parent() == nil || n < 0 {
		return nil
	}
	for _, b := range fn.Parent().Blocks {
		for _, i := range b.Instrs {
			if m, ok := i.(*ssa.MakeClosure); ok && m.Fn == fn {
				return m.Bindings[n]
			}
		}
	}
	return nil
}

// addressUsed reports whether the address of a variable goes anywhere but into
// closures.
func addressUsed(a *ssa.Alloc) bool {
	for _, r := range *a.Referrers() {
		switch r := r.(type) {
		case *ssa.UnOp, *ssa.DebugRef, *ssa.MakeClosure, *ssa.FieldAddr, *ssa.IndexAddr:
		case *ssa.Store:
			if r.Val == a {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// shared reports whether others than its own function may change a variable.
func (p *pkg) shared(a *ssa.Alloc) bool {
	if p.leaked[a] {
		return true
	}
	for fn := range p.stores[a] {
		if fn != a.Parent() {
			return true
		}
	}
	return false
}

// settled reports whether a captured variable is set only once.
func (p *pkg) settled(fv *ssa.FreeVar) bool {
	a := variable(fv)
	if a == nil || p.leaked[a] {
		return false
	}
	n := 0
	for _, times := range p.stores[a] {
		n += times
	}
	return n <= 1
}

// writesElsewhere reports whether a function other than fn may set a field.
func (p *pkg) writesElsewhere(field *types.Var, fn *ssa.Function) bool {
	if field.Pkg() != p.pass.Pkg {
		return !p.pass.ImportObjectFact(field, new(Settled))
	}
	for w := range p.writers[field] {
		if w != fn {
			return true
		}
	}
	return false
}

// onlyValue returns the value that a variable is set to, if that is only one.
func (p *pkg) onlyValue(a *ssa.Alloc) ssa.Value {
	var one ssa.Value
	for _, r := range *a.Referrers() {
		if s, ok := r.(*ssa.Store); ok && s.Addr == a {
			if one != nil {
				return nil
			}
			one = s.Val
		}
	}
	return one
}
