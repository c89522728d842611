package flow

import (
	"cmp"
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// leaks tells of arenas that this function makes, keeps to itself, and does not
// free.
func (f *function) leaks() {
	if exits(f.fn) {
		return
	}
	var made []ssa.Value
	for _, v := range f.made {
		made = append(made, v)
	}
	slices.SortFunc(made, func(a, b ssa.Value) int { return cmp.Compare(a.Pos(), b.Pos()) })
	for _, v := range made {
		instr, ok := v.(ssa.Instruction)
		if !ok || f.entry[instr.Block()] == nil || f.escapes(v, map[ssa.Value]bool{}, nil) {
			continue
		}
		f.only = v
		f.rerun(instr.Block(), index(instr))
		f.only = nil
		f.leak(v, instr)
	}
	f.begin = nil
}

// exits reports whether the program ends with the function, so that nothing needs to
// be freed.
func exits(fn *ssa.Function) bool {
	if fn.Pkg == nil || fn.Parent() != nil {
		return false
	}
	return fn.Name() == "TestMain" || fn.Pkg.Pkg.Name() == "main" && (fn.Name() == "main" || fn.Name() == "init")
}

// leak looks at the returns of a run that began with an arena.
func (f *function) leak(v ssa.Value, at ssa.Instruction) {
	var without []*ssa.Return
	pos := at.Pos()
	for _, r := range f.ret {
		a := r.state.of(v)
		d := r.state.cells[place{v, "defer"}]
		if a.life == alive && d.life == alive {
			without = append(without, r.instr)
		}
	}
	if len(without) == 0 || !pos.IsValid() || f.outlived(v) {
		return
	}
	fixes := f.pkg.deferFix(pos)
	d := f.diagnose(at, "", nil)
	freed := slices.ContainsFunc(f.ret, func(r atReturn) bool { return r.state.of(v).life != alive })
	if !freed && !f.deferEnds[v] {
		d.Message = "the arena is never freed: its memory is reused only once it is"
		d.SuggestedFixes = fixes
	} else {
		line := 0
		for _, r := range without {
			p := returnPos(r)
			if p.IsValid() {
				line = f.line(p)
				d.Related = append(d.Related, related(p, "the arena is not freed here"))
				break
			}
		}
		d.Message = "the arena is not freed on every return path"
		if line > 0 {
			d.Message += fmt.Sprintf(": not at the return in line %d", line)
		}
	}
	f.pkg.report(Free, d)
}

func returnPos(r *ssa.Return) token.Pos {
	if p := r.Pos(); p.IsValid() {
		return p
	}
	if s := r.Parent().Syntax(); s != nil {
		return s.End() - 1
	}
	return token.NoPos
}

// outlived reports whether memory of an arena leaves the function: then the arena
// cannot be freed here, and its memory is the GC's.
func (f *function) outlived(region identity) bool {
	for _, r := range f.ret {
		for _, x := range r.instr.Results {
			v := r.state.of(x)
			if !v.tracked() {
				v, _ = r.state.holds(v)
			}
			if v.region == region {
				return true
			}
		}
		for p, v := range r.state.cells {
			if v.region == region && v.what != anArena && f.outside(p.in) {
				return true
			}
		}
	}
	return false
}
