package flow

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// The packages whose mistakes are looked for. The experimental arena of Go
// has the same names as Folio's.
const (
	folio      = "github.com/foliomem/folio/"
	folioArena = folio + "arena"
	goArena    = "arena"
	folioPage  = folio + "page"
	folioTune  = folio + "gctune"
	folioAuto  = folio + "auto"
)

func isArenaPackage(path string) bool { return path == folioArena || path == goArena }

// relevant reports whether code of a package can have anything to do with arenas
// and mappings: whether it imports their packages, be it through others.
func relevant(pkg *types.Package) bool {
	seen := map[*types.Package]bool{}
	var search func(p *types.Package) bool
	search = func(p *types.Package) bool {
		if seen[p] {
			return false
		}
		seen[p] = true
		if isArenaPackage(p.Path()) || p.Path() == folioPage {
			return true
		}
		for _, i := range p.Imports() {
			if search(i) {
				return true
			}
		}
		return false
	}
	return search(pkg)
}

// What a function of the packages does.
type effect int

const (
	none     effect = iota
	made            // returns a new arena
	mapped          // returns a new mapping, and an error
	ended           // Free, Put: neither the arena nor what is in it may be used any more
	emptied         // Reset: what is in it may not be used any more
	closed          // Close of a mapping
	handled         // Of: a handle
	given           // returns memory of the arena
	appended        // returns memory of the arena or of its second argument
	copied          // Clone: a copy on the heap
	bytes           // Bytes of a mapping
	harmless        // may be called after the end, too
)

type api struct {
	name   string
	effect effect
	arg    int // which argument is the arena, handle or mapping
}

// known returns what a call of an arena's or a mapping's function does.
func known(c *ssa.CallCommon) (api, bool) {
	fn := callee(c)
	if fn == nil || fn.Pkg() == nil {
		return api{}, false
	}
	name := fn.Name()
	if recv := receiver(fn); recv != "" {
		name = recv + "." + name
	}
	var e effect
	arg := 0
	switch path := fn.Pkg().Path(); {
	case isArenaPackage(path):
		switch name {
		case "NewArena", "NewArenaWith", "Pool.Get":
			e = made
		case "Arena.Free":
			e = ended
		case "Pool.Put":
			e, arg = ended, 1
		case "Arena.Reset":
			e = emptied
		case "Of":
			e = handled
		case "New", "MakeSlice", "String", "Bytes", "Handle.New":
			e = given
		case "Append", "AppendSlice":
			e = appended
		case "Clone":
			e = copied
		case "Arena.Stats":
			e = harmless
		}
	case path == folioPage:
		switch name {
		case "Map":
			e = mapped
		case "Mapping.Close":
			e = closed
		case "Mapping.Bytes":
			e = bytes
		}
	}
	return api{fn.Name(), e, arg}, e != none
}

// callee returns the function that a call calls, nil if that is not known here.
func callee(c *ssa.CallCommon) *types.Func {
	if f := c.StaticCallee(); f != nil {
		if o := f.Origin(); o != nil {
			f = o
		}
		if obj, ok := f.Object().(*types.Func); ok {
			return obj.Origin()
		}
	}
	return nil
}

// receiver returns the name of the type that a method belongs to.
func receiver(fn *types.Func) string {
	r := fn.Signature().Recv()
	if r == nil {
		return ""
	}
	if n := named(r.Type()); n != nil {
		return n.Obj().Name()
	}
	return ""
}

// named returns the named type of t or of what t points to.
func named(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}

// itemOf says what a pointer of type t is: an arena, a handle, a mapping.
func itemOf(t types.Type) what {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return nothing
	}
	return itself(p.Elem())
}

// itself says whether a type is that of an arena, a handle, a mapping.
func itself(t types.Type) what {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return nothing
	}
	path, name := n.Obj().Pkg().Path(), n.Obj().Name()
	switch {
	case isArenaPackage(path) && name == "Arena":
		return anArena
	case path == folioArena && name == "Handle":
		return aHandle
	case path == folioPage && name == "Mapping":
		return aMapping
	}
	return nothing
}

// pointers reports whether values of a type can lead to memory of an arena.
func pointers(t types.Type) bool {
	seen := map[types.Type]bool{}
	var search func(t types.Type) bool
	search = func(t types.Type) bool {
		if seen[t] {
			return false
		}
		seen[t] = true
		switch u := t.Underlying().(type) {
		case *types.Basic:
			return u.Info()&types.IsString != 0 || u.Kind() == types.UnsafePointer || u.Kind() == types.UntypedNil
		case *types.Struct:
			for f := range u.Fields() {
				if search(f.Type()) {
					return true
				}
			}
			return false
		case *types.Array:
			return search(u.Elem())
		case *types.Tuple:
			for v := range u.Variables() {
				if search(v.Type()) {
					return true
				}
			}
			return false
		}
		return true
	}
	return search(t)
}
