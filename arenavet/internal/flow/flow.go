// Package flow follows arenas, and what is allocated from them, through the
// functions of a package. It is what the analyzers of package arenavet share.
//
// A function is executed on what is known of its values (state.go), path by path;
// where paths meet, what holds on both remains. So what is found to be dead is so
// on every path that was followed. Three runs decide what is reported:
//
//   - from the entry: what is dead on every path to a use;
//   - from each call that ends an arena: what is dead on every path from there to
//     a use that each of them comes to;
//   - from each place where a value leaves the function: what is dead in the end.
//
// In each case there is no way through the function that both executes the two
// places and is right, unless one of them is never reached. What may be right
// because two conditions exclude each other is not reported.
package flow

import (
	"cmp"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"golang.org/x/tools/go/ssa"
)

// Category says which analyzer a finding belongs to.
type Category string

// The categories.
const (
	Use       Category = "use"
	Free      Category = "free"
	Escape    Category = "escape"
	Append    Category = "append"
	Goroutine Category = "goroutine"
	Handle    Category = "handle"
	Mapping   Category = "mapping"
	Finalizer Category = "finalizer"
)

// A Finding is a mistake.
type Finding struct {
	Category Category
	analysis.Diagnostic
}

// Findings is the result of the analyser.
type Findings []Finding

// Analyzer finds the mistakes of all categories; the analyzers of package arenavet
// report those of one each.
var Analyzer = &analysis.Analyzer{
	Name:       "arenaflow",
	Doc:        "follow arenas and their values through the functions of a package",
	URL:        "https://pkg.go.dev/github.com/foliomem/folio/arenavet",
	Run:        run,
	Requires:   []*analysis.Analyzer{ctrlflow.Analyzer},
	ResultType: reflect.TypeFor[Findings](),
	FactTypes:  []analysis.Fact{new(Summary), new(Settled)},
}

func run(pass *analysis.Pass) (any, error) {
	if implementation(pass.Pkg) || !relevant(pass.Pkg) {
		return Findings(nil), nil
	}
	p := newPackage(pass)
	p.summarize()
	p.export()
	p.exportFields()
	for _, fn := range p.funcs {
		p.analyze(fn, true)
	}
	slices.SortStableFunc(p.found, func(a, b Finding) int { return cmp.Compare(a.Pos, b.Pos) })
	return p.found, nil
}

// pkg is the package that is analysed.
type pkg struct {
	pass     *analysis.Pass
	funcs    []*ssa.Function
	sums     map[*ssa.Function]*Summary
	writers  map[*types.Var]map[*ssa.Function]bool // who stores to a field
	globals  map[*ssa.Global]int                   // how many functions store to it
	stores   map[*ssa.Alloc]map[*ssa.Function]int  // how often functions store to a variable
	leaked   map[*ssa.Alloc]bool                   // variables whose address is somewhere
	found    Findings
	seen     map[reported]bool
	siblings map[*types.Var]int // of a field that is a handle: the field that is its arena, -1 if it has several
	ignored  map[line]bool
}

type reported struct {
	pos      token.Pos
	category Category
}

func newPackage(pass *analysis.Pass) *pkg {
	cfgs := pass.ResultOf[ctrlflow.Analyzer].(*ctrlflow.CFGs)
	prog := ssa.NewProgram(pass.Fset, 0)
	prog.SetNoReturn(cfgs.NoReturn)
	done := map[*types.Package]bool{}
	var imports func(ps []*types.Package)
	imports = func(ps []*types.Package) {
		for _, i := range ps {
			if !done[i] {
				done[i] = true
				prog.CreatePackage(i, nil, nil, true)
				imports(i.Imports())
			}
		}
	}
	imports(pass.Pkg.Imports())
	main := prog.CreatePackage(pass.Pkg, pass.Files, pass.TypesInfo, false)
	main.Build()
	p := &pkg{
		pass: pass, sums: map[*ssa.Function]*Summary{}, writers: map[*types.Var]map[*ssa.Function]bool{},
		globals: map[*ssa.Global]int{}, stores: map[*ssa.Alloc]map[*ssa.Function]int{}, leaked: map[*ssa.Alloc]bool{},
		seen: map[reported]bool{}, ignored: map[line]bool{}, siblings: map[*types.Var]int{},
	}
	p.collect(prog)
	p.survey()
	p.directives()
	return p
}

// collect lists the functions with a body, those inside others after them.
func (p *pkg) collect(prog *ssa.Program) {
	var anons func(f *ssa.Function)
	anons = func(f *ssa.Function) {
		if len(f.Blocks) > 0 {
			p.funcs = append(p.funcs, f)
		}
		for _, a := range f.AnonFuncs {
			anons(a)
		}
	}
	for _, obj := range p.pass.TypesInfo.Defs {
		if fn, ok := obj.(*types.Func); ok {
			if f := prog.FuncValue(fn); f != nil && f.Pkg != nil && f.Pkg.Pkg == p.pass.Pkg {
				anons(f)
			}
		}
	}
	slices.SortFunc(p.funcs, func(a, b *ssa.Function) int {
		return cmp.Or(cmp.Compare(a.Pos(), b.Pos()), strings.Compare(a.Name(), b.Name()))
	})
	p.funcs = slices.Compact(p.funcs)
}

// report adds a finding, once for each position.
func (p *pkg) report(c Category, d analysis.Diagnostic) {
	if !d.Pos.IsValid() || p.seen[reported{d.Pos, c}] {
		return
	}
	p.seen[reported{d.Pos, c}] = true
	if at := p.pass.Fset.Position(d.Pos); p.ignored[line{at.Filename, at.Line}] {
		return
	}
	d.Category = string(c)
	p.found = append(p.found, Finding{c, d})
}

// summarize finds out what the functions do for their callers. A function that
// calls itself is taken to add nothing at first.
func (p *pkg) summarize() {
	for _, fn := range p.funcs {
		s := &Summary{Results: make([]Source, fn.Signature.Results().Len())}
		for i := range s.Results {
			s.Results[i].Kind = empty
		}
		p.sums[fn] = s
	}
	const rounds = 8
	for round := range rounds {
		changed := false
		for _, fn := range slices.Backward(p.funcs) {
			s := p.analyze(fn, false)
			if !s.equal(p.sums[fn]) {
				changed = true
				if round == rounds-1 { // it does not settle: nothing is known
					s = &Summary{Results: make([]Source, len(s.Results)), MayEnd: s.MayEnd, Keeps: s.Keeps}
				}
			}
			p.sums[fn] = s
		}
		if !changed {
			return
		}
	}
}

// export makes the summaries known to packages that import this one.
func (p *pkg) export() {
	for fn, s := range p.sums {
		obj, ok := fn.Object().(*types.Func)
		if !ok || obj.Pkg() != p.pass.Pkg {
			continue
		}
		if !s.trivial() || takesArena(fn) {
			p.pass.ExportObjectFact(obj, s)
		}
	}
}

// takesArena reports whether a function has an arena as a parameter.
func takesArena(fn *ssa.Function) bool {
	return slices.ContainsFunc(fn.Params, func(p *ssa.Parameter) bool { return mayLead(p.Type()) })
}

// implementation reports whether a package is one that makes arenas or mappings:
// inside, and in their tests, what callers must not do is done on purpose.
func implementation(pkg *types.Package) bool {
	return isArenaPackage(pkg.Path()) || pkg.Path() == folioPage
}

// directives finds the lines whose findings are not reported: those with the
// comment arenavet:ignore, and those after such a line.
func (p *pkg) directives() {
	for _, f := range p.pass.Files {
		for _, g := range f.Comments {
			for _, c := range g.List {
				if strings.HasPrefix(c.Text, "//arenavet:ignore") {
					at := p.pass.Fset.Position(c.Pos())
					p.ignored[line{at.Filename, at.Line}] = true
					p.ignored[line{at.Filename, at.Line + 1}] = true
				}
			}
		}
	}
}

type line struct {
	file string
	n    int
}
