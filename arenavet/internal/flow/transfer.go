package flow

import (
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// step executes an instruction.
func (f *function) step(s *state, instr ssa.Instruction) {
	switch i := instr.(type) {
	case *ssa.Phi: // done on the edges
	case *ssa.Alloc:
		f.alloc(s, i)
	case *ssa.UnOp:
		f.unary(s, i)
	case *ssa.FieldAddr:
		f.fieldAddr(s, i)
	case *ssa.IndexAddr:
		v := s.of(i.X)
		f.derive(s, i, v, v.at().step("[]"))
	case *ssa.Field:
		f.set(s, i, f.part(s, i.X, "."+strconv.Itoa(i.Field), i))
	case *ssa.Index:
		f.set(s, i, f.part(s, i.X, "[]", i))
	case *ssa.Extract:
		f.set(s, i, f.part(s, i.Tuple, "#"+strconv.Itoa(i.Index), i))
	case *ssa.Slice:
		v := s.of(i.X)
		if i.Max != nil || i.High != nil || i.Low != nil || v.empty {
			v.room = room{}
		}
		if p := v.at(); p.path == "" || v.id == nil {
			f.set(s, i, v)
		} else {
			f.derive(s, i, v, p)
		}
	case *ssa.Store:
		f.store(s, i)
	case *ssa.MapUpdate:
		f.used(s, i, i.Map)
		m := s.of(i.Map).at().step("[]")
		f.keep(s, i, m, i.Value)
		f.keep(s, i, m, i.Key)
	case *ssa.Lookup:
		f.used(s, i, i.X)
		if _, ok := i.X.Type().Underlying().(*types.Map); ok {
			f.element(s, i, i.X, i.CommaOk, "#0")
		}
	case *ssa.Next:
		if r, ok := i.Iter.(*ssa.Range); ok && !i.IsString {
			f.element(s, i, r.X, true, "#1", "#2")
		}
	case *ssa.Range:
		f.used(s, i, i.X)
		f.set(s, i, s.of(i.X))
	case *ssa.ChangeType:
		f.set(s, i, s.of(i.X))
	case *ssa.ChangeInterface:
		f.set(s, i, s.of(i.X))
	case *ssa.MakeInterface:
		f.set(s, i, s.of(i.X))
	case *ssa.SliceToArrayPointer:
		f.set(s, i, s.of(i.X))
	case *ssa.Convert:
		f.convert(s, i)
	case *ssa.TypeAssert:
		if i.CommaOk {
			s.cells[place{i, "#0"}] = s.of(i.X)
		} else {
			f.set(s, i, s.of(i.X))
		}
	case *ssa.BinOp:
		if i.Op == token.ADD {
			f.used(s, i, i.X)
			f.used(s, i, i.Y)
		}
	case *ssa.MakeClosure:
		f.alloc(s, i)
		for n, b := range i.Bindings {
			v := s.of(b)
			if a, ok := b.(*ssa.Alloc); ok {
				if c, ok := s.cells[place{a, ""}]; ok {
					v = c // what it captured
				}
			}
			s.cells[place{i, "." + strconv.Itoa(n)}] = v
		}
	case *ssa.MakeSlice, *ssa.MakeMap, *ssa.MakeChan:
		f.alloc(s, i.(ssa.Value))
	case *ssa.Send:
		f.used(s, i, i.X)
		f.sent(s, i, i.X)
	case *ssa.Select:
		for _, c := range i.States {
			if c.Send != nil {
				f.used(s, i, c.Send)
				f.sent(s, i, c.Send)
			}
		}
	case *ssa.Go:
		f.spawn(s, i, &i.Call)
	case *ssa.Defer:
		f.deferred(s, i)
	case *ssa.RunDefers:
		for n := len(s.defers) - 1; n >= 0; n-- {
			f.call(s, s.defers[n], &s.defers[n].Call, true)
		}
		s.defers = nil
	case *ssa.Call:
		f.call(s, i, &i.Call, false)
	case *ssa.Return:
		f.returns(s, i)
	}
}

// set records what is known of the value that an instruction makes.
func (f *function) set(s *state, i ssa.Value, v value) {
	if v.id == nil {
		v.id = i
	}
	s.vals[i] = v
}

// alloc is an instruction that makes an object.
func (f *function) alloc(s *state, i ssa.Value) {
	s.renew(i)
	s.fresh[i] = true
	v := value{id: i}
	if a, ok := i.(*ssa.Alloc); ok {
		if w := itemOf(a.Type()); w == anArena {
			v.region, v.what = i, w
			f.made[i] = a
		}
	}
	s.vals[i] = v
}

// derive is an instruction that makes an address inside the object that v leads
// to.
func (f *function) derive(s *state, i ssa.Value, v value, p place) {
	out := value{id: inner(p)}
	if v.what == memory {
		out.region, out.what, out.life, out.end = v.region, v.what, v.life, v.end
	}
	if w := itemOf(i.Type()); w == anArena || w == aMapping {
		known, ok := s.cells[place{out.id, "&"}]
		if !ok {
			known = value{id: out.id, region: out.id, what: w}
			s.cells[place{out.id, "&"}] = known
		}
		out = known
	}
	s.vals[i] = out
}

func (f *function) fieldAddr(s *state, i *ssa.FieldAddr) {
	v := s.of(i.X)
	p := v.at().step("." + strconv.Itoa(i.Field))
	f.fields[p] = fieldVar(i)
	f.derive(s, i, v, p)
}

// fieldVar returns the field whose address an instruction takes.
func fieldVar(i *ssa.FieldAddr) *types.Var {
	st := i.X.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Struct)
	return st.Field(i.Field).Origin()
}

// part returns what is known of a part of a struct, array or tuple.
func (f *function) part(s *state, x ssa.Value, path string, at ssa.Instruction) value {
	v := s.of(x)
	if c, ok := s.cells[v.at().step(path)]; ok {
		if c.mixed {
			return value{}
		}
		return c
	}
	return value{empty: s.fresh[v.at().in]}
}

// element takes an element out of a map.
func (f *function) element(s *state, i ssa.Value, x ssa.Value, tuple bool, to ...string) {
	c, ok := s.cells[s.of(x).at().step("[]")]
	if !ok || c.mixed || c.id == nil {
		c = value{id: i}
	}
	c.id = i
	if c.what == anArena || c.what == aMapping {
		c = value{id: i} // one of several
	}
	if !tuple {
		f.set(s, i, c)
		return
	}
	for _, t := range to {
		s.cells[place{i, t}] = c
	}
}

func (f *function) unary(s *state, i *ssa.UnOp) {
	if i.Op != token.MUL {
		return
	}
	f.used(s, i, i.X)
	t := i.Type()
	if !pointers(t) {
		return
	}
	p := s.of(i.X).at()
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array:
		if itself(t) == nothing {
			s.forget(i)
			s.copy(p, place{i, ""})
			if s.fresh[p.in] {
				s.fresh[i] = true
			}
			f.set(s, i, value{id: i})
			return
		}
	}
	w := nothing
	if w = itemOf(t); w == nothing {
		w = itself(t)
	}
	f.set(s, i, f.load(s, p, w, i))
}

// load returns what is in a place. What is not known yet is remembered.
func (f *function) load(s *state, p place, w what, at ssa.Instruction) value {
	if c, ok := s.cells[p]; ok {
		if c.mixed {
			return value{id: content{p.in, p.path, at}}
		}
		if p.many() && !c.empty {
			c.id = content{p.in, p.path, at}
			s.renew(c.id)
			c.room = room{}
			if c.what == anArena || c.what == aMapping {
				c = value{id: c.id, region: c.id, what: c.what} // one of several
			}
		}
		return c
	}
	if s.fresh[p.in] {
		return value{id: content{p.in, p.path, at}, empty: true}
	}
	if fv, ok := p.in.(*ssa.FreeVar); ok && p.path == "" && w == nothing {
		if v, ok := f.captured(s, fv, at); ok {
			s.cells[p] = v
			return v
		}
	}
	id := content{p.in, p.path, at}
	s.renew(id)
	v := value{id: id}
	if w != nothing && w != memory {
		v.region, v.what = id, w
	}
	if w == aHandle {
		// A handle that was made together with an arena beside it is that arena's.
		field := f.fields[p]
		if n, ok := f.pkg.siblings[field]; ok && n >= 0 && len(f.pkg.writers[field]) == 0 {
			beside := place{p.in, p.path[:strings.LastIndexByte(p.path, '.')] + "." + strconv.Itoa(n)}
			if a := f.load(s, beside, anArena, at); a.tracked() {
				v.region, v.life, v.end = a.region, a.life, a.end
			}
		}
	}
	if !p.many() {
		s.cells[p] = v
	}
	return v
}

func (f *function) store(s *state, i *ssa.Store) {
	f.used(s, i, i.Addr)
	p := s.of(i.Addr).at()
	t := i.Val.Type()
	if !pointers(t) {
		return
	}
	switch t.Underlying().(type) {
	case *types.Struct, *types.Array:
		from := s.of(i.Val)
		if from.empty {
			s.forgetParts(p)
			return
		}
		s.copy(from.at(), p)
		for k, v := range s.cells {
			if v.tracked() && k.partOf(p) {
				f.stored(s, i, k, v)
			}
		}
		return
	}
	f.dropAliases(s, p)
	f.keep(s, i, p, i.Val)
}

// keep puts a value into a place.
func (f *function) keep(s *state, i ssa.Instruction, p place, val ssa.Value) {
	if !pointers(val.Type()) {
		return
	}
	v := s.of(val)
	s.put(p, v)
	if v.tracked() {
		f.stored(s, i, p, v)
	} else if h, ok := s.holds(v); ok {
		// What it holds is there from now on.
		s.put(p.step("[]"), h)
		f.stored(s, i, p.step("[]"), h)
	}
}

// dropAliases forgets the same field of other objects, which may be this object by
// another name.
func (f *function) dropAliases(s *state, p place) {
	field := f.fields[p]
	if field == nil {
		return
	}
	for k := range s.cells {
		if k.in != p.in && f.fields[k] == field && !(apart(k.in) && apart(p.in)) {
			delete(s.cells, k)
		}
	}
}

// apart reports whether an object was made here, so that it is no other one.
func apart(id identity) bool {
	switch id.(type) {
	case *ssa.Alloc, *ssa.Call:
		return true
	}
	return false
}

func (f *function) convert(s *state, i *ssa.Convert) {
	v := s.of(i.X)
	from, to := i.X.Type().Underlying(), i.Type().Underlying()
	_, slice1 := from.(*types.Slice)
	_, slice2 := to.(*types.Slice)
	if slice1 != slice2 { // string and []byte: a copy
		f.used(s, i, i.X)
		f.set(s, i, value{id: i, empty: true})
		return
	}
	if b, ok := to.(*types.Basic); ok && b.Kind() == types.UnsafePointer {
		v = value{} // who does that knows what they do, or nobody does
	}
	f.set(s, i, v)
}

// captured returns what a captured variable holds, if that is memory of an arena
// that the function captured too.
func (f *function) captured(s *state, fv *ssa.FreeVar, at ssa.Instruction) (value, bool) {
	if !f.pkg.settled(fv) {
		return value{}, false
	}
	c, ok := f.pkg.onlyValue(variable(fv)).(*ssa.Call)
	if !ok {
		return value{}, false
	}
	a, ok := known(&c.Call)
	if !ok || a.effect != given && a.effect != handled || a.arg >= len(c.Call.Args) {
		return value{}, false
	}
	from, ok := c.Call.Args[a.arg].(*ssa.UnOp)
	if !ok {
		return value{}, false
	}
	for _, other := range f.fn.FreeVars {
		if v := variable(other); v != nil && v == variable(from.X) && f.pkg.settled(other) {
			r := f.load(s, place{other, ""}, itemOf(from.Type()), at)
			w := memory
			if a.effect == handled {
				w = aHandle
			}
			return value{id: content{fv, "", at}, region: r.region, what: w, life: r.life, end: r.end}, r.tracked()
		}
	}
	return value{}, false
}
