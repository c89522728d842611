package flow

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// roomOf returns the room of what MakeSlice made.
func roomOf(args []ssa.Value) room {
	if len(args) != 3 {
		return room{}
	}
	n, ok1 := number(args[1])
	c, ok2 := number(args[2])
	switch {
	case ok1 && ok2:
		return room{known: true, len: n, cap: c, full: n == c}
	case args[1] == args[2]:
		return room{full: true}
	}
	return room{}
}

func number(v ssa.Value) (int64, bool) {
	c, ok := v.(*ssa.Const)
	if !ok || c.Value == nil || c.Value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(c.Value)
}

// grow is a plain append to a slice of an arena. It returns what is known of the
// result.
func (f *function) grow(s *state, instr ssa.CallInstruction, args []ssa.Value, old value) value {
	added, ok := f.count(s, args)
	r := old.room
	why := ""
	switch {
	case ok && added == 0:
		return old
	case ok && r.known && r.len+added <= r.cap:
		r.len += added
		r.full = r.len == r.cap
		old.room = r
		return old
	case ok && r.known:
		why = fmt.Sprintf("it has room for %d more", r.cap-r.len)
	case r.full:
		why = "it has no room"
	case r.grown:
		why = "where it has no room left"
	default:
		// What was made with room is taken to have enough.
		old.room = room{}
		return old
	}
	if old.life == alive {
		f.reportAppend(instr, args, old, why)
	}
	return value{}
}

// count returns how many elements an append adds, if that is known.
func (f *function) count(s *state, args []ssa.Value) (int64, bool) {
	if len(args) < 2 {
		return 0, true
	}
	switch v := args[1].(type) {
	case *ssa.Const:
		if v.Value == nil {
			return 0, true
		}
		if v.Value.Kind() == constant.String {
			return int64(len(constant.StringVal(v.Value))), true
		}
	case *ssa.Slice:
		if a, ok := v.X.(*ssa.Alloc); ok && v.Low == nil && v.High == nil {
			return arrayLen(a)
		}
	}
	return 0, false
}

// fullAtFirst reports whether a variable is a slice of an arena without room when
// a loop begins.
func (f *function) fullAtFirst(s *state, x ssa.Value) (value, bool) {
	phi, ok := x.(*ssa.Phi)
	if !ok {
		return value{}, false
	}
	for _, e := range phi.Edges {
		if v := s.of(e); v.what == memory && v.life == alive && v.room.full {
			return v, true
		}
	}
	return value{}, false
}

func (f *function) reportAppend(instr ssa.CallInstruction, args []ssa.Value, s value, why string) {
	if !f.told || !f.report || f.begin != nil || f.only != nil {
		return
	}
	d := f.diagnose(instr, "append moves a slice of the arena to the heap: "+why, nil)
	d.SuggestedFixes = f.appendFix(instr.Pos(), s.region)
	if len(d.SuggestedFixes) == 0 {
		d.Message += "; make it large enough, or use Append of Folio's arena"
	} else {
		d.Message += "; arena.Append keeps it in the arena"
	}
	f.pkg.report(Append, d)
}

// appendFix makes append(s, x) arena.Append(a, s, x), where the arena is in a
// variable.
func (f *function) appendFix(pos token.Pos, region identity) []analysis.SuggestedFix {
	p := f.pkg
	call := p.callAt(pos)
	name := p.arenaName(pos)
	a := f.variableOf(region)
	if call == nil || name == "" || a == nil || a.Pkg() != p.pass.Pkg || len(call.Args) < 2 {
		return nil
	}
	if n := named(a.Type()); n == nil || n.Obj().Pkg().Path() != folioArena {
		return nil // Go's has no Append
	}
	if _, seen := p.pass.Pkg.Scope().Innermost(pos).LookupParent(a.Name(), pos); seen != a {
		return nil
	}
	edits := []analysis.TextEdit{{Pos: call.Fun.Pos(), End: call.Lparen + 1, NewText: []byte(name + ".Append(" + a.Name() + ", ")}}
	if call.Ellipsis.IsValid() {
		if _, ok := p.pass.TypesInfo.TypeOf(call.Args[1]).Underlying().(*types.Slice); !ok {
			return nil // a string
		}
		edits[0].NewText = []byte(name + ".AppendSlice(" + a.Name() + ", ")
		edits = append(edits, analysis.TextEdit{Pos: call.Ellipsis, End: call.Ellipsis + 3})
	}
	return []analysis.SuggestedFix{{Message: "append in the arena", TextEdits: edits}}
}

// variableOf returns the variable that holds an arena.
func (f *function) variableOf(region identity) *types.Var {
	switch r := region.(type) {
	case *ssa.Parameter:
		v, _ := r.Object().(*types.Var)
		return v
	case *ssa.Call:
		st, ok := f.pkg.nodeAt(r.Pos(), func(n ast.Node) bool { _, ok := n.(ast.Stmt); return ok }).(*ast.AssignStmt)
		if !ok || len(st.Lhs) != 1 {
			return nil
		}
		if id, ok := st.Lhs[0].(*ast.Ident); ok {
			v, _ := f.pkg.pass.TypesInfo.ObjectOf(id).(*types.Var)
			return v
		}
	}
	return nil
}
