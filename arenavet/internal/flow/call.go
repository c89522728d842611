package flow

import (
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ssa"
)

// call executes a call: instr is the *ssa.Call, or the *ssa.Defer whose time has
// come.
func (f *function) call(s *state, instr ssa.CallInstruction, c *ssa.CallCommon, deferred bool) {
	result, _ := instr.(*ssa.Call)
	if b, ok := c.Value.(*ssa.Builtin); ok {
		f.builtin(s, instr, result, b.Name(), c.Args)
		return
	}
	if a, ok := known(c); ok {
		f.api(s, instr, result, c, a, deferred)
		return
	}
	f.finalizer(s, instr, c)
	sum := f.summary(c)
	f.enter(s, instr, c, sum)
	if sum == nil {
		if w, args := spawned(c); w {
			f.spawnArgs(s, instr, args)
		}
		f.clobber(s, c)
		if result != nil {
			f.unknownResult(s, result)
		}
		return
	}
	args := arguments(c)
	var results []value
	for _, r := range sum.Results {
		results = append(results, f.result(s, instr, args, r))
	}
	for _, p := range sum.Allocs {
		if v, ok := f.follow(s, args, p, instr); ok && v.what != memory {
			f.allocates(s, instr, v)
		}
	}
	for _, p := range sum.Uses {
		// Of arguments, the call itself is a use.
		if v, ok := f.follow(s, args, p, instr); ok && (p.Root >= len(c.Args) || len(p.Steps) > 0) {
			f.use(s, instr, v)
		}
	}
	f.clobber(s, c)
	for _, e := range sum.Ends {
		v, ok := f.follow(s, args, e.Path, instr)
		if !ok || !v.tracked() || v.what == memory {
			continue
		}
		f.end(s, instr, v, &end{pos: instr.Pos(), name: e.Name, deferred: deferred, instr: instr, all: e.All,
			mapping: v.what == aMapping, by: c.StaticCallee().Name()})
		if id, ok := v.id.(content); ok && e.Replaced {
			delete(s.cells, place{id.in, id.path})
		}
	}
	for _, p := range sum.MayEnd {
		if v, ok := f.follow(s, args, p, instr); ok && v.tracked() && v.what != memory {
			f.mayEnd = add(f.mayEnd, f.rooted(v.region))
			s.kill(v.region, &end{pos: instr.Pos(), instr: instr, all: true}, true, unsure)
		}
	}
	if result == nil {
		return
	}
	if len(results) == 1 {
		v := results[0]
		if v.id == nil {
			v.id = result
		}
		if v.id == identity(result) {
			s.forget(result)
		}
		s.vals[result] = v
		f.receive(s, v.at(), args, sum.Results[0].Parts, instr)
		return
	}
	s.forget(result)
	for n, v := range results {
		if v.id == nil {
			v.id = inner{result, "#" + strconv.Itoa(n)}
		}
		s.cells[place{result, "#" + strconv.Itoa(n)}] = v
		f.receive(s, v.at(), args, sum.Results[n].Parts, instr)
	}
	s.vals[result] = value{id: result}
}

// enter checks the arguments of a call of a function of the program.
func (f *function) enter(s *state, instr ssa.Instruction, c *ssa.CallCommon, sum *Summary) {
	if quiet(c) {
		return
	}
	if c.IsInvoke() {
		f.used(s, instr, c.Value)
	}
	for _, a := range c.Args {
		v := s.of(a)
		if v.what == memory {
			f.use(s, instr, v)
		} else if variadic(a) {
			if h, ok := s.holds(v); ok {
				f.use(s, instr, h)
			}
		}
	}
}

// variadic reports whether an argument is the list of a variadic parameter.
func variadic(a ssa.Value) bool {
	s, ok := a.(*ssa.Slice)
	if !ok {
		return false
	}
	list, ok := s.X.(*ssa.Alloc)
	return ok && list.Comment == "varargs"
}

// quiet are functions that may be called with what has ended.
func quiet(c *ssa.CallCommon) bool {
	fn := callee(c)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "runtime" && fn.Name() == "KeepAlive"
}

func (f *function) unknownResult(s *state, i *ssa.Call) {
	s.renew(i)
	v := value{id: i}
	if w := itemOf(i.Type()); w == anArena || w == aMapping {
		v.region, v.what = i, w
	}
	s.vals[i] = v
}

// result returns what a function returned.
func (f *function) result(s *state, at ssa.Instruction, args []ssa.Value, r Source) value {
	switch r.Kind {
	case empty:
		return value{id: at, empty: true}
	case fresh:
		if v, ok := at.(ssa.Value); ok {
			f.made[v] = v
		}
		s.renew(at)
		return value{id: at, region: at, what: what(r.What)}
	case same:
		v, _ := f.follow(s, args, r.Path, at)
		v.room = room{}
		return v
	case within:
		v, ok := f.follow(s, args, r.Path, at)
		if !ok || !v.tracked() {
			return value{}
		}
		return value{id: at, region: v.region, what: what(r.What), life: v.life, end: v.end}
	}
	return value{}
}

// api executes a call of the packages arena and page.
func (f *function) api(s *state, instr ssa.CallInstruction, result *ssa.Call, c *ssa.CallCommon, a api, deferred bool) {
	var v value
	if a.effect != made && a.effect != mapped && a.arg < len(c.Args) {
		v = s.of(c.Args[a.arg])
	}
	set := func(r value) {
		if result == nil {
			return
		}
		if r.id == nil {
			r.id = result
			s.forget(result)
		}
		s.vals[result] = r
	}
	switch a.effect {
	case made:
		s.renew(result)
		if result != nil {
			f.made[result] = result
		}
		set(value{region: result, what: anArena})
	case mapped:
		if result != nil {
			s.renew(result)
			s.cells[place{result, "#0"}] = value{id: inner{result, "#0"}, region: result, what: aMapping}
			set(value{id: result})
		}
	case ended, emptied, closed:
		if a.effect != closed || v.life != dead {
			f.end(s, instr, v, &end{pos: instr.Pos(), name: a.name, deferred: deferred, instr: instr,
				all: a.effect != emptied, mapping: a.effect == closed})
		}
	case handled:
		f.allocates(s, instr, v)
		set(value{region: v.region, what: aHandle, life: v.life, end: v.end})
	case given:
		f.allocates(s, instr, v)
		r := value{region: v.region, what: memory, life: v.life, end: v.end}
		switch a.name {
		case "MakeSlice":
			r.room = roomOf(c.Args)
		case "Bytes":
			r.room = room{full: true}
		}
		set(r)
		if result != nil {
			s.fresh[result] = true
		}
	case bytes:
		f.use(s, instr, v)
		set(value{region: v.region, what: memory, life: v.life, end: v.end})
	case appended:
		f.allocates(s, instr, v)
		f.used(s, instr, c.Args[1])
		old := s.of(c.Args[1])
		r := value{region: v.region, what: memory, life: v.life, end: v.end, room: room{grown: true}}
		if !old.empty && old.region != v.region {
			r = value{} // it may have had room
		}
		set(r)
		f.appends(s, instr, result, c.Args, 1, 2)
	case copied:
		f.used(s, instr, c.Args[0])
		set(value{})
	}
}

// end ends an arena or mapping.
func (f *function) end(s *state, instr ssa.Instruction, v value, e *end) {
	if !v.tracked() {
		return
	}
	if v.life == dead && v.what == anArena {
		f.twice(s, instr, v, e)
	}
	f.mayEnd = add(f.mayEnd, f.rooted(v.region))
	f.ends[instr] = true
	s.kill(v.region, e, e.all, dead)
}

// rooted is pathOf for summaries; a path that leads nowhere is dropped by add.
func (f *function) rooted(id identity) Path {
	p, ok := f.pathOf(id)
	if !ok {
		return Path{Steps: make([]string, maxSteps+1)}
	}
	p.What = int(f.kind(id))
	return p
}

// kind says what a region is by its type.
func (f *function) kind(id identity) what {
	switch id := id.(type) {
	case ssa.Value:
		if w := itemOf(id.Type()); w != nothing {
			return w
		}
		return anArena
	}
	if w, ok := f.kinds[id]; ok {
		return w
	}
	return anArena
}

// allocates is a call that allocates from an arena, or through a handle.
func (f *function) allocates(s *state, instr ssa.Instruction, v value) {
	if !v.tracked() {
		return
	}
	f.sum.Allocs = add(f.sum.Allocs, f.rooted(v.region))
	f.allocAt[instr] = v.region
	f.use(s, instr, v)
}

func (f *function) builtin(s *state, instr ssa.CallInstruction, result *ssa.Call, name string, args []ssa.Value) {
	switch name {
	case "append":
		f.used(s, instr, args[0])
		old := s.of(args[0])
		r := value{}
		if old.what == memory {
			r = f.grow(s, instr, args, old)
		} else if v, ok := f.fullAtFirst(s, args[0]); ok {
			f.reportAppend(instr, args, v, "it has no room")
		}
		if result != nil {
			s.vals[result] = value{id: result}
			s.forget(result)
			if r.id = result; r.tracked() {
				s.vals[result] = r
			} else if old.empty {
				s.fresh[result] = true
			}
		}
		f.appends(s, instr, result, args, 0, 1)
	case "copy":
		f.used(s, instr, args[0])
		f.used(s, instr, args[1])
	case "clear":
		f.used(s, instr, args[0])
		s.forgetParts(s.of(args[0]).at())
	case "print", "println":
		for _, a := range args {
			f.used(s, instr, a)
		}
	case "min", "max":
		for _, a := range args {
			f.used(s, instr, a)
		}
	}
}

// appends gives the result of an append what is in its arguments.
func (f *function) appends(s *state, instr ssa.Instruction, result *ssa.Call, args []ssa.Value, old, values int) {
	if result == nil {
		return
	}
	from, to := s.of(args[old]), place{result, ""}
	if from.at().in != to.in {
		s.copy(from.at(), to)
		if s.fresh[from.at().in] || from.empty {
			s.fresh[result] = true
		}
	}
	if values >= len(args) {
		return
	}
	more := s.of(args[values])
	if more.what == memory && !elementPointers(args[values].Type()) {
		return
	}
	if c, ok := s.cells[more.at().step("[]")]; ok {
		s.put(to.step("[]"), c)
	} else if !s.fresh[more.at().in] && !more.empty {
		if c, ok := s.cells[to.step("[]")]; ok {
			c.mixed = true
			s.cells[to.step("[]")] = c
		}
		delete(s.fresh, result)
	}
}

func elementPointers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return pointers(u.Elem())
	}
	return false
}

// clobber forgets what a call may change.
func (f *function) clobber(s *state, c *ssa.CallCommon) {
	foreign := false // a function of another package that calls nothing back
	if fn := c.StaticCallee(); fn != nil && fn.Pkg != f.fn.Pkg && fn.Object() != nil && fn.Object().Pkg() != f.pkg.pass.Pkg {
		foreign = !slices.ContainsFunc(c.Args, func(a ssa.Value) bool {
			_, ok := a.Type().Underlying().(*types.Signature)
			return ok
		})
	}
	passed := map[identity]bool{}
	for _, a := range c.Args {
		v := s.of(a)
		if v.id == nil {
			continue
		}
		passed[v.at().in] = true
		if pointers(a.Type()) {
			delete(s.fresh, v.at().in)
		}
	}
	for k, v := range s.cells {
		switch field := f.fields[k]; {
		case field != nil:
			if f.pkg.writesElsewhere(field, f.fn) && !(foreign && !field.Exported() && field.Pkg() == f.pkg.pass.Pkg) {
				delete(s.cells, k)
			}
		case k.many():
			if passed[k.in] && !v.mixed {
				v.mixed = true
				s.cells[k] = v
			}
		case k.path == "":
			switch in := k.in.(type) {
			case *ssa.Alloc:
				if passed[in] || f.pkg.shared(in) {
					delete(s.cells, k)
				}
			case *ssa.Global:
				if f.pkg.globals[in] > 1 || in.Pkg != f.fn.Pkg {
					delete(s.cells, k)
				}
			case *ssa.FreeVar:
				if !f.pkg.settled(in) {
					delete(s.cells, k)
				}
			}
		}
	}
}
