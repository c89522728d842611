package flow

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A Path leads from an argument of a function to what it speaks of.
type Path struct {
	Root  int      // index of the parameter; those after the last are the captured variables
	Steps []string // each a part of an object, whose content comes next; "&" for one that is the object itself
	What  int      // what is there
}

func (p Path) equal(q Path) bool { return p.Root == q.Root && slices.Equal(p.Steps, q.Steps) }

// Source kinds: what a function returns.
const (
	unknown = iota
	empty   // nothing that leads to an arena
	fresh   // a new arena, which is the caller's
	within  // memory, a handle, or an arena, at or in the region at Path
	same    // what is at Path
)

// A Source says where a result comes from.
type Source struct {
	Kind  int
	What  int
	Path  Path
	Parts []Part
}

// A Part is what is known of a part of a new object that is returned.
type Part struct {
	Step string
	What int
	From Path // of the arena that it is, or that it is from
}

// A Summary is what callers know of a function.
type Summary struct {
	Results []Source
	Ends    []Ending // on all paths
	MayEnd  []Path   // on some
	Allocs  []Path   // arenas and handles that it allocates from
	Uses    []Path   // what it reads and writes
	Keeps   []int    // parameters that may be used after it returns
	Holds   []int    // parameters that are in what it returns, and nowhere else
	Stores  []int    // parameters that are arenas whose memory it puts where it stays
}

// An Ending is an arena or mapping that a function ends.
type Ending struct {
	Path Path
	All  bool // Free, Put or Close; otherwise Reset
	Name string
	// Replaced says that something else is there since.
	Replaced bool
}

// AFact marks Summary as a fact of the analysis framework.
func (*Summary) AFact() {}

func (s *Summary) String() string { return fmt.Sprintf("%+v", *s) }

// trivial reports whether callers learn nothing.
func (s *Summary) trivial() bool {
	return len(s.Ends)+len(s.MayEnd)+len(s.Allocs)+len(s.Keeps)+len(s.Holds) == 0 &&
		!slices.ContainsFunc(s.Results, func(r Source) bool { return r.Kind > empty || len(r.Parts) > 0 })
}

func (s *Summary) equal(t *Summary) bool { return s.String() == t.String() }

func add(list []Path, p Path) []Path {
	if len(p.Steps) > maxSteps || slices.ContainsFunc(list, p.equal) {
		return list
	}
	return append(list, p)
}

// maxSteps bounds the paths of summaries, which recursion would lengthen.
const maxSteps = 4

// pathOf returns how to get from the parameters to an object.
func (f *function) pathOf(id identity) (Path, bool) {
	switch id := id.(type) {
	case *ssa.Parameter:
		return Path{Root: slices.Index(f.fn.Params, id)}, true
	case *ssa.FreeVar:
		return Path{Root: len(f.fn.Params) + slices.Index(f.fn.FreeVars, id)}, true
	case content:
		if p, ok := f.pathOf(id.in); ok {
			p.Steps = append(slices.Clip(p.Steps), id.path)
			return p, true
		}
	case inner:
		if p, ok := f.pathOf(id.in); ok {
			p.Steps = append(slices.Clip(p.Steps), "&"+id.path)
			return p, true
		}
	}
	return Path{}, false
}

// follow returns what a path of a callee leads to. If it is not known, it becomes
// known as what the call at found.
func (f *function) follow(s *state, args []ssa.Value, p Path, at ssa.Instruction) (value, bool) {
	if p.Root >= len(args) {
		return value{}, false
	}
	v := s.of(args[p.Root])
	t := args[p.Root].Type()
	for i, step := range p.Steps {
		t = f.noteField(v, t, step)
		w := nothing
		if i == len(p.Steps)-1 {
			w = what(p.What)
		}
		if v.empty || v.id == nil {
			return value{}, false
		}
		if part, ok := cut(step); ok {
			id := inner{v.at().in, v.at().path + part}
			v = value{id: id}
			if w != nothing {
				v.region, v.what = id, w
				if known, ok := s.cells[place{id, "&"}]; ok {
					v = known
				} else {
					s.cells[place{id, "&"}] = v
				}
			}
			continue
		}
		v = f.load(s, v.at().step(step), w, at)
	}
	return v, true
}

// noteField notes which field a step leads to, in an object that a pointer of type
// t leads to. It returns the type of the field, nil if that is not known.
func (f *function) noteField(v value, t types.Type, step string) types.Type {
	name, inside := cut(step)
	n, err := strconv.Atoi(strings.TrimPrefix(name, "."))
	if t == nil || v.id == nil || err != nil {
		return nil
	}
	ptr, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return nil
	}
	st, ok := ptr.Elem().Underlying().(*types.Struct)
	if !ok || n >= st.NumFields() {
		return nil
	}
	field := st.Field(n).Origin()
	f.fields[v.at().step(name)] = field
	if inside {
		return types.NewPointer(field.Type())
	}
	return field.Type()
}

// arguments are those of a call, and what its function captured.
func arguments(c *ssa.CallCommon) []ssa.Value {
	if m, ok := c.Value.(*ssa.MakeClosure); ok {
		return slices.Concat(c.Args, m.Bindings)
	}
	return c.Args
}

func cut(step string) (string, bool) {
	if len(step) > 0 && step[0] == '&' {
		return step[1:], true
	}
	return step, false
}

// summary returns what is known of the function that a call calls.
func (f *function) summary(c *ssa.CallCommon) *Summary {
	fn := c.StaticCallee()
	if fn == nil {
		return nil
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	if s, ok := f.pkg.sums[fn]; ok {
		return s
	}
	obj, ok := fn.Object().(*types.Func)
	if !ok {
		return nil
	}
	s := new(Summary)
	if f.pkg.pass.ImportObjectFact(obj.Origin(), s) {
		return s
	}
	return nil
}

// source returns where a value that is returned comes from.
func (f *function) source(v value) Source {
	switch {
	case v.empty:
		return Source{Kind: empty}
	case v.life == dead:
		return Source{}
	case v.what == anArena && f.made[v.id] != nil:
		return Source{Kind: fresh, What: int(v.what)}
	}
	if v.tracked() {
		if p, ok := f.pathOf(v.id); ok {
			p.What = int(v.what)
			return Source{Kind: same, What: int(v.what), Path: p}
		}
		if p, ok := f.pathOf(v.region); ok {
			p.What = int(f.kind(v.region))
			return Source{Kind: within, What: int(v.what), Path: p}
		}
		return Source{}
	}
	if p, ok := f.pathOf(v.id); ok {
		return Source{Kind: same, Path: p}
	}
	return Source{}
}

func (a Source) join(b Source) Source {
	switch {
	case a.Kind == empty:
		return b
	case b.Kind == empty:
		return a
	case a.Kind == b.Kind && a.What == b.What && a.Path.equal(b.Path):
		a.Parts = slices.DeleteFunc(slices.Clone(a.Parts), func(p Part) bool { return !slices.ContainsFunc(b.Parts, p.equal) })
		return a
	}
	return Source{}
}

// summarize finds what callers should know, after the run from the entry.
func (f *function) summarize() {
	sum := f.sum
	slices.Sort(sum.Stores)
	n := f.fn.Signature.Results().Len()
	sum.Results = make([]Source, n)
	for i := range n {
		sum.Results[i].Kind = empty
		for _, r := range f.ret {
			v := r.state.of(r.instr.Results[i])
			if !pointers(r.instr.Results[i].Type()) {
				v = value{empty: true}
			}
			src := f.source(v)
			src.Parts = f.parts(r.state, v)
			sum.Results[i] = sum.Results[i].join(src)
		}
		if len(f.ret) == 0 {
			sum.Results[i] = Source{}
		}
	}
	for i, r := range f.ret {
		var here []Ending
		for id, e := range r.state.ended {
			if p, ok := f.pathOf(id); ok {
				p.What = int(f.kind(id))
				here = append(here, Ending{p, e.all, e.name, replaced(r.state, id)})
			}
		}
		if i > 0 {
			here = slices.DeleteFunc(here, func(h Ending) bool {
				return !slices.ContainsFunc(sum.Ends, func(e Ending) bool { return e.Path.equal(h.Path) && e.All == h.All })
			})
		}
		sum.Ends = here
	}
	slices.SortFunc(sum.Ends, func(a, b Ending) int {
		return cmp.Or(cmp.Compare(a.Path.Root, b.Path.Root), slices.Compare(a.Path.Steps, b.Path.Steps))
	})
	for _, p := range f.mayEnd {
		if !slices.ContainsFunc(sum.Ends, func(e Ending) bool { return e.Path.equal(p) }) {
			sum.MayEnd = add(sum.MayEnd, p)
		}
	}
	for i, p := range f.fn.Params {
		if !mayLead(p.Type()) {
			continue
		}
		returned := false
		if f.escapes(p, map[ssa.Value]bool{}, &returned) {
			sum.Keeps = append(sum.Keeps, i)
		} else if returned {
			sum.Holds = append(sum.Holds, i)
		}
	}
}

// deferred is a defer statement.
func (f *function) deferred(s *state, i *ssa.Defer) {
	if !slices.Contains(s.defers, i) {
		s.defers = append(s.defers, i)
	}
	mark := func(v value) {
		if v.tracked() {
			s.cells[place{v.region, "defer"}] = value{id: v.region, life: dead}
			f.deferEnds[v.region] = true
		}
	}
	if a, ok := known(&i.Call); ok {
		if (a.effect == ended || a.effect == closed) && a.arg < len(i.Call.Args) {
			mark(s.of(i.Call.Args[a.arg]))
		}
		return
	}
	if sum := f.summary(&i.Call); sum != nil {
		args := arguments(&i.Call)
		for _, e := range sum.Ends {
			if v, ok := f.follow(s, args, e.Path, i); ok {
				mark(v)
			}
		}
		for _, p := range sum.MayEnd {
			if v, ok := f.follow(s, args, p, i); ok {
				mark(v)
			}
		}
	}
}

// excluded reports whether a way out of a block cannot be taken: an arena that
// was made is not nil.
func (f *function) excluded(s *state, b *ssa.BasicBlock, succ int) bool {
	if f.only == nil {
		return false
	}
	i, ok := b.Instrs[len(b.Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	c, ok := i.Cond.(*ssa.BinOp)
	if !ok || c.Op != token.EQL && c.Op != token.NEQ {
		return false
	}
	x := c.X
	if k, ok := c.Y.(*ssa.Const); !ok || !k.IsNil() {
		return false
	}
	if v := s.of(x); v.what != anArena || v.region != f.only {
		return false
	}
	isNil := 0
	if c.Op == token.NEQ {
		isNil = 1
	}
	return succ == isNil
}

func (p Part) equal(q Part) bool {
	return p.Step == q.Step && p.What == q.What && p.From.equal(q.From)
}

// parts returns what callers should know of the parts of a new object.
func (f *function) parts(s *state, v value) (out []Part) {
	if v.id == nil || v.empty || v.life == dead {
		return nil
	}
	if _, ok := f.pathOf(v.id); ok {
		return nil // callers know it
	}
	at := v.at()
	for k, c := range s.cells {
		if !k.partOf(at) || !c.tracked() || c.mixed || c.life != alive || k.path[len(at.path)] == '&' || k.path[len(at.path)] == 'd' {
			continue
		}
		if p, ok := f.pathOf(c.region); ok && len(p.Steps) <= maxSteps {
			p.What = int(f.kind(c.region))
			out = append(out, Part{k.path[len(at.path):], int(c.what), p})
		}
	}
	slices.SortFunc(out, func(a, b Part) int { return strings.Compare(a.Step, b.Step) })
	return out
}

// receive records what is known of the parts of a new object that a call returned.
func (f *function) receive(s *state, to place, args []ssa.Value, parts []Part, at ssa.Instruction) {
	for _, p := range parts {
		from, ok := f.follow(s, args, p.From, at)
		if !ok || !from.tracked() {
			continue
		}
		v := value{id: content{to.in, to.path + p.Step, at}, region: from.region, what: what(p.What), life: from.life, end: from.end}
		if v.what == anArena {
			v = from
		}
		s.cells[to.step(p.Step)] = v
	}
}

// replaced reports whether something else is where an arena was found.
func replaced(s *state, id identity) bool {
	c, ok := id.(content)
	if !ok {
		return false
	}
	now, ok := s.cells[place{c.in, c.path}]
	return !ok || now.region != id
}

// Settled marks a field that is set only where its object is made.
type Settled struct{}

// AFact marks Settled as a fact of the analysis framework.
func (*Settled) AFact() {}

func (*Settled) String() string { return "settled" }

// exportFields makes known which fields with arenas are settled.
func (p *pkg) exportFields() {
	scope := p.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		t, ok := scope.Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		st, ok := t.Type().Underlying().(*types.Struct)
		if !ok {
			continue
		}
		for f := range st.Fields() {
			if f.Pkg() == p.pass.Pkg && f.Origin() == f && mayLead(f.Type()) && !f.Exported() && len(p.writers[f]) == 0 {
				p.pass.ExportObjectFact(f, new(Settled))
			}
		}
	}
}
