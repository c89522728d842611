package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// ofObject are functions that take a pointer to a whole object of the heap, and what they do
// with one to memory of an arena.
var ofObject = map[string]string{
	"runtime.SetFinalizer": "it crashes the program, or is for the whole slab",
	"runtime.AddCleanup":   "it is for the whole slab, and may run long after Free, or never",
	"weak.Make":            "it is for the whole slab, and may become nil long after Free, or never",
}

// finalizer is a call that may be of one of those.
func (f *function) finalizer(s *state, instr ssa.CallInstruction, c *ssa.CallCommon) {
	fn := callee(c)
	if fn == nil || fn.Pkg() == nil || len(c.Args) == 0 {
		return
	}
	name := fn.Pkg().Name() + "." + fn.Name()
	why, ok := ofObject[name]
	if !ok || fn.Pkg().Path() != fn.Pkg().Name() || fn.Signature().Recv() != nil {
		return
	}
	if name == "runtime.SetFinalizer" && len(c.Args) > 1 && isNil(c.Args[1]) {
		return // it removes one
	}
	v := s.of(c.Args[0])
	if v.what != memory || v.life != alive || v.mixed || !isArena(v.region) {
		return
	}
	if !f.told || !f.report || f.begin != nil || f.only != nil {
		return
	}
	f.pkg.report(Finalizer, f.diagnose(instr, name+" of memory of the arena: "+why, nil))
}

func isNil(v ssa.Value) bool {
	if m, ok := v.(*ssa.MakeInterface); ok {
		v = m.X
	}
	k, ok := v.(*ssa.Const)
	return ok && k.IsNil()
}

// isArena reports whether the identity of what memory belongs to is known to be that of an
// arena, and not of a mapping.
func isArena(id identity) bool {
	var t types.Type
	switch id := id.(type) {
	case ssa.Value:
		t = id.Type()
	case content:
		if v, ok := id.at.(ssa.Value); ok {
			t = v.Type()
		}
	}
	return t != nil && itemOf(t) == anArena
}
