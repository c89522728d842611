package arenavet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

const folio = "github.com/foliomem/folio/"

// GCTune reports settings of the GC that fight gctune.
var GCTune = &analysis.Analyzer{
	Name: "gctunefight",
	Doc: `check for settings of the GC in programs that gctune tunes

Package gctune, and package auto, which starts it, leave a setting alone once the
program sets it itself: debug.SetGCPercent ends the tuning of GOGC, and
debug.SetMemoryLimit that of the limit. Reported are such calls in a function
that also calls gctune.Start and does not stop the tuner, or only in the end by
defer, and in files that import folio/auto.

	t, err := gctune.Start(nil)
	...
	debug.SetGCPercent(400) // gctune gives up

SetMemoryLimit with a negative limit only reads, and is not reported.`,
	URL: manual + "gctunefight",
	Run: gctune,
}

func gctune(pass *analysis.Pass) (any, error) {
	if !imports(pass.Pkg, "runtime/debug") || !imports(pass.Pkg, folio+"gctune") && !imports(pass.Pkg, folio+"auto") {
		return nil, nil
	}
	for _, file := range pass.Files {
		auto := false
		for _, i := range file.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			auto = auto || err == nil && path == folio+"auto"
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				checkGCTune(pass, fn, auto)
			}
		}
	}
	return nil, nil
}

func imports(pkg *types.Package, path string) bool {
	for _, i := range pkg.Imports() {
		if i.Path() == path {
			return true
		}
	}
	return false
}

// checkGCTune looks for settings in a function.
func checkGCTune(pass *analysis.Pass, fn *ast.FuncDecl, auto bool) {
	var started, stopped token.Pos
	type setting struct {
		call *ast.CallExpr
		name string
	}
	var settings []setting
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if _, ok := n.(*ast.DeferStmt); ok && !auto {
			return false // the tuner runs until then, and what comes in which order is not followed
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f := typeutil.StaticCallee(pass.TypesInfo, call)
		if f == nil || f.Pkg() == nil {
			return true
		}
		switch path, name := f.Pkg().Path(), f.Name(); {
		case path == folio+"gctune" && name == "Start":
			if !started.IsValid() {
				started = call.Pos()
			}
		case path == folio+"gctune" && name == "Stop":
			stopped = call.Pos()
		case path == "runtime/debug" && (name == "SetGCPercent" || name == "SetMemoryLimit"):
			if name == "SetMemoryLimit" && reads(pass, call) {
				return true
			}
			settings = append(settings, setting{call, name})
		}
		return true
	})
	for _, s := range settings {
		d := analysis.Diagnostic{Pos: s.call.Pos(), End: s.call.End()}
		what := "GOGC"
		if s.name == "SetMemoryLimit" {
			what = "the memory limit"
		}
		switch {
		case started.IsValid() && s.call.Pos() > started && !stopped.IsValid():
			d.Message = "debug." + s.name + " in a program that gctune tunes: gctune leaves " + what + " alone from then on"
			d.Related = []analysis.RelatedInformation{{Pos: started, Message: "gctune is started here"}}
		case auto:
			d.Message = "debug." + s.name + " in a program that imports folio/auto: the tuner leaves " + what + " alone from then on"
		default:
			continue
		}
		pass.Report(d)
	}
}

// reads reports whether a call of SetMemoryLimit has a negative argument.
func reads(pass *analysis.Pass, call *ast.CallExpr) bool {
	if len(call.Args) != 1 {
		return false
	}
	v := pass.TypesInfo.Types[call.Args[0]].Value
	return v != nil && constant.Sign(v) < 0
}
