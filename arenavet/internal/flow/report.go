package flow

import (
	"fmt"
	"go/token"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// used is an instruction that uses the object that x leads to.
func (f *function) used(s *state, instr ssa.Instruction, x ssa.Value) {
	v := s.of(x)
	f.use(s, instr, v)
	if _, ok := v.id.(ssa.Value); !ok || len(f.fn.FreeVars) > 0 {
		if p, ok := f.pathOf(v.at().in); ok {
			f.sum.Uses = add(f.sum.Uses, p)
		}
	}
}

// use is an instruction that uses an object.
func (f *function) use(s *state, instr ssa.Instruction, v value) {
	if !f.certain(instr, v) {
		return
	}
	e := v.end
	c, text := Use, ""
	switch {
	case e.mapping:
		c, text = Mapping, "bytes of the mapping are used after "+f.name(e)
		if v.what == aMapping {
			text = "the mapping is used after " + f.name(e)
		}
	case v.what == aHandle:
		c, text = Handle, "the handle is used after "+f.name(e)+" of its arena"
	case v.what == anArena:
		text = "the arena is used after " + f.name(e)
	default:
		text = "memory of the arena is used after " + f.name(e)
	}
	f.pkg.report(c, f.diagnose(instr, text, e))
}

// certain reports whether v is dead at an instruction, whatever happened before, or
// since its end.
func (f *function) certain(at ssa.Instruction, v value) bool {
	if !f.told || !f.report || f.only != nil || v.life == alive || v.end == nil {
		return false
	}
	switch {
	case f.begin == nil:
		return v.life == dead
	case f.begin != v.end.instr || !f.order.certain(f.begin, at):
		return false
	case v.life == unsure && f.barrier == nil:
		f.again[at] = true // it may be sure the first time
	}
	return v.life == dead
}

// name says what ended the life of something, and where.
func (f *function) name(e *end) string {
	name := e.name
	if e.by != "" && e.by != e.name {
		name += " by " + e.by
	}
	if e.deferred {
		name = "the deferred " + name
	}
	return fmt.Sprintf("%s in line %d", name, f.line(e.pos))
}

func (f *function) line(pos token.Pos) int { return f.pkg.pass.Fset.Position(pos).Line }

// diagnose makes a diagnostic for an instruction.
func (f *function) diagnose(at ssa.Instruction, text string, e *end) analysis.Diagnostic {
	d := analysis.Diagnostic{Pos: position(at), Message: text}
	if e != nil && e.pos.IsValid() {
		d.Related = append(d.Related, analysis.RelatedInformation{Pos: e.pos, Message: e.name + " is here"})
	}
	return d
}

// position returns where an instruction is in the text.
func position(i ssa.Instruction) token.Pos {
	if p := i.Pos(); p.IsValid() {
		return p
	}
	for _, o := range i.Operands(nil) {
		if x, ok := (*o).(ssa.Instruction); ok {
			if _, phi := x.(*ssa.Phi); phi {
				continue
			}
			if p := x.(ssa.Value).Pos(); p.IsValid() && x.Block() == i.Block() {
				return p
			}
		}
	}
	list := i.Block().Instrs
	for n := index(i); n >= 0; n-- {
		if p := list[n].Pos(); p.IsValid() {
			return p
		}
	}
	return token.NoPos
}

// twice is an arena that is freed after it was.
func (f *function) twice(s *state, instr ssa.Instruction, v value, e *end) {
	if !f.certain(instr, v) {
		return
	}
	text := fmt.Sprintf("%s of an arena after %s: it panics", e.name, f.name(v.end))
	pos := position(instr)
	if e.deferred {
		name := e.name
		if e.by != "" {
			name = e.by
		}
		text = fmt.Sprintf("the deferred %s comes after %s: it panics", name, f.name(v.end))
	}
	d := f.diagnose(instr, text, v.end)
	d.Pos = pos
	// A call that a deferred one repeats can go.
	if first, ok := v.end.instr.(*ssa.Call); ok && e.deferred && e.by == "" && v.end.by == "" {
		d.SuggestedFixes = f.pkg.deleteStatement(first.Pos(), "remove "+v.end.name+": the deferred call does it")
	} else if c, ok := instr.(*ssa.Call); ok && e.by == "" {
		d.SuggestedFixes = f.pkg.deleteStatement(c.Pos(), "remove the second "+e.name)
	}
	f.pkg.report(Free, d)
}
