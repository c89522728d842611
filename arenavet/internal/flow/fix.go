package flow

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
	"golang.org/x/tools/go/ssa"
)

func related(pos token.Pos, text string) analysis.RelatedInformation {
	return analysis.RelatedInformation{Pos: pos, Message: text}
}

func arrayLen(a *ssa.Alloc) (int64, bool) {
	arr, ok := a.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Array)
	if !ok {
		return 0, false
	}
	return arr.Len(), true
}

// file returns the file of a position.
func (p *pkg) file(pos token.Pos) *ast.File {
	for _, f := range p.pass.Files {
		if f.FileStart <= pos && pos < f.FileEnd {
			return f
		}
	}
	return nil
}

// nodeAt returns the innermost node around a position that is wanted.
func (p *pkg) nodeAt(pos token.Pos, want func(ast.Node) bool) ast.Node {
	file := p.file(pos)
	if file == nil {
		return nil
	}
	path, _ := astutil.PathEnclosingInterval(file, pos, pos)
	for _, n := range path {
		if want(n) {
			return n
		}
	}
	return nil
}

// deleteStatement is the fix that removes the statement of a call.
func (p *pkg) deleteStatement(pos token.Pos, text string) []analysis.SuggestedFix {
	st, ok := p.nodeAt(pos, func(n ast.Node) bool { _, ok := n.(ast.Stmt); return ok }).(*ast.ExprStmt)
	if !ok {
		return nil
	}
	from, to := st.Pos(), st.End()
	f := p.pass.Fset.File(from)
	line := f.Line(from)
	if f.Line(to) == line && line < f.LineCount() {
		// The whole line, if there is nothing else on it.
		if content, err := p.pass.ReadFile(f.Name()); err == nil {
			start, end := f.Offset(f.LineStart(line)), f.Offset(f.LineStart(line+1))
			text := string(content[start:f.Offset(from)]) + string(content[f.Offset(to):end])
			if strings.TrimSpace(text) == "" {
				from, to = f.LineStart(line), f.LineStart(line+1)
			}
		}
	}
	return []analysis.SuggestedFix{{Message: text, TextEdits: []analysis.TextEdit{{Pos: from, End: to}}}}
}

// arenaName returns the name of the arena package in a file.
func (p *pkg) arenaName(pos token.Pos) string {
	file := p.file(pos)
	if file == nil {
		return ""
	}
	for _, i := range file.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil || !isArenaPackage(path) {
			continue
		}
		if i.Name == nil {
			return "arena"
		}
		if i.Name.Name == "." || i.Name.Name == "_" {
			return ""
		}
		return i.Name.Name
	}
	return ""
}

// callAt returns the call whose parenthesis, or name, is at a position.
func (p *pkg) callAt(pos token.Pos) *ast.CallExpr {
	c, _ := p.nodeAt(pos, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		return ok && (c.Lparen == pos || c.Pos() == pos)
	}).(*ast.CallExpr)
	return c
}

// deferFix inserts a deferred Free after the statement that makes an arena.
func (p *pkg) deferFix(pos token.Pos) []analysis.SuggestedFix {
	st, ok := p.nodeAt(pos, func(n ast.Node) bool { _, ok := n.(ast.Stmt); return ok }).(*ast.AssignStmt)
	if !ok || len(st.Lhs) != 1 || st.Tok != token.DEFINE {
		return nil
	}
	name, ok := st.Lhs[0].(*ast.Ident)
	if !ok || name.Name == "_" {
		return nil
	}
	if t := p.pass.TypesInfo.TypeOf(name); t == nil || itemOf(t) != anArena {
		return nil
	}
	loop := p.nodeAt(pos, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncDecl, *ast.FuncLit:
			return true
		}
		return false
	})
	switch loop.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		return nil // the deferred calls would pile up
	}
	line := p.pass.Fset.Position(st.Pos())
	return []analysis.SuggestedFix{{
		Message: "free the arena when the function returns",
		TextEdits: []analysis.TextEdit{{Pos: st.End(), End: st.End(),
			NewText: []byte("\n" + strings.Repeat("\t", max(line.Column-1, 1)) + "defer " + name.Name + ".Free()")}},
	}}
}
