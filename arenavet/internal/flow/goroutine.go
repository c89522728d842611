package flow

import (
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// A spawn is a goroutine that allocates from an arena.
type spawn struct {
	at     ssa.Instruction
	region identity
}

// spawned reports whether a call of an unknown function starts a goroutine, as the
// methods Go of sync.WaitGroup and errgroup.Group do, and returns what it runs.
func spawned(c *ssa.CallCommon) (bool, []ssa.Value) {
	fn := callee(c)
	if fn == nil || fn.Pkg() == nil || fn.Name() != "Go" || len(c.Args) != 2 {
		return false, nil
	}
	switch fn.Pkg().Path() {
	case "sync", "golang.org/x/sync/errgroup":
		return true, c.Args[1:]
	}
	return false, nil
}

// spawn is a go statement.
func (f *function) spawn(s *state, i ssa.Instruction, c *ssa.CallCommon) {
	for _, a := range arguments(c) {
		f.use(s, i, s.of(a))
	}
	f.goes(s, i, c)
	f.clobber(s, c)
}

// spawnArgs is a call that runs its arguments on other goroutines.
func (f *function) spawnArgs(s *state, i ssa.Instruction, args []ssa.Value) {
	for _, a := range args {
		f.goes(s, i, &ssa.CallCommon{Value: a})
	}
}

// goes runs a function on another goroutine: what it uses and allocates from is
// in use from now on.
func (f *function) goes(s *state, i ssa.Instruction, c *ssa.CallCommon) {
	sum := f.summary(c)
	if a, ok := known(c); ok && a.effect == given && a.arg < len(c.Args) {
		f.spawns = append(f.spawns, spawn{i, s.of(c.Args[a.arg]).region})
		return
	}
	if sum == nil || f.locks(c) {
		return
	}
	args := arguments(c)
	ends := func(v value) bool {
		return slices.ContainsFunc(sum.Ends, func(e Ending) bool {
			w, ok := f.follow(s, args, e.Path, i)
			return ok && w.region == v.region
		}) || len(sum.MayEnd) > len(sum.Ends)
	}
	n := 0
	leaves := func(v value) {
		if !v.tracked() || v.empty || !f.owns(v.region) || ends(v) {
			return
		}
		n++
		p := place{i, fmt.Sprint(".", n)}
		s.cells[p] = v
		f.leaves[i] = true
		f.stays[p] = i
	}
	for _, p := range sum.Allocs {
		if v, ok := f.follow(s, args, p, i); ok && v.what != memory && v.tracked() {
			f.spawns = append(f.spawns, spawn{i, v.region})
			leaves(v)
		}
	}
	for _, p := range sum.Uses {
		if v, ok := f.follow(s, args, p, i); ok && v.what == memory {
			leaves(v)
		}
	}
}

// locks reports whether a function that a goroutine runs waits for others, for
// example by a mutex: then it may share what it uses.
func (f *function) locks(c *ssa.CallCommon) bool {
	fn := c.StaticCallee()
	if fn == nil {
		return true
	}
	for _, b := range fn.Blocks {
		if f.pkg.waits(b.Instrs) {
			return true
		}
	}
	return false
}

// goroutines tells of arenas that several goroutines allocate from.
func (f *function) goroutines() {
	slices.SortStableFunc(f.spawns, func(a, b spawn) int { return cmp.Compare(a.at.Pos(), b.at.Pos()) })
	for _, g := range slices.CompactFunc(f.spawns, func(a, b spawn) bool { return a == b }) {
		if g.region == nil {
			continue
		}
		b := g.at.Block()
		made := f.born(g.region)
		if f.order.reaches(b, b, func(x *ssa.BasicBlock) bool {
			return x == made && made != f.fn.Blocks[0] || x != b && f.pkg.waits(x.Instrs)
		}) && made != b && !f.pkg.waits(b.Instrs) {
			f.shared(g.at, "the goroutines that this starts all allocate from one arena: an arena is for one goroutine at a time", g.at)
			continue
		}
		for at, region := range f.allocAt {
			if region == g.region && at != g.at && f.order.before(f.pkg, g.at, at) {
				f.shared(at, fmt.Sprintf("allocates from an arena that the goroutine started in line %d allocates from: an arena is for one goroutine at a time", f.line(g.at.Pos())), g.at)
			}
		}
		for _, h := range f.spawns {
			if h.region == g.region && h.at != g.at && f.order.before(f.pkg, g.at, h.at) {
				f.shared(h.at, fmt.Sprintf("this goroutine allocates from an arena that the one started in line %d allocates from: an arena is for one goroutine at a time", f.line(g.at.Pos())), g.at)
			}
		}
	}
}

func (f *function) shared(at ssa.Instruction, text string, spawn ssa.Instruction) {
	d := f.diagnose(at, text, nil)
	if at != spawn {
		d.Related = append(d.Related, related(position(spawn), "the other goroutine starts here"))
	}
	f.pkg.report(Goroutine, d)
}

// born returns the block where an arena comes into being, or is found.
func (f *function) born(id identity) *ssa.BasicBlock {
	switch id := id.(type) {
	case ssa.Instruction:
		return id.Block()
	case content:
		if id.at == nil {
			return f.fn.Blocks[0]
		}
		if fv, ok := id.in.(*ssa.FreeVar); ok && f.pkg.settled(fv) {
			return f.fn.Blocks[0]
		}
		if field := f.fields[place{id.in, id.path}]; field != nil && field.Pkg() == f.pkg.pass.Pkg && len(f.pkg.writers[field]) == 0 {
			return f.born(id.in) // set when the object was made
		}
		return id.at.Block()
	case inner:
		return f.born(id.in)
	}
	return f.fn.Blocks[0]
}
