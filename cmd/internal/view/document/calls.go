package document

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A called is a run with its CPU time by call path.
type called struct {
	name    string
	profile *result.Profile
	tree    *result.CallTree
}

// callsBlock draws call paths: of one run, or of several to compare with the first; nil
// where the first has none.
func callsBlock(runs []called) *Block {
	c := &Chart{Kind: Paths, Title: "CPU time by call path", Partly: true,
		CallTrees: &CallTrees{What: "CPU time", Unit: Seconds, Memory: true, Classes: callClasses()}}
	b := &Block{Title: sitesTitle, Charts: []*Chart{c}}
	for i, r := range runs {
		if r.tree == nil || r.profile == nil || len(r.tree.Parents) == 0 {
			if i == 0 {
				return nil
			}
			continue
		}
		c.Trees = append(c.Trees, newCallTree(r.name, r.profile.CPU(), c.Classes, r.tree))
	}
	c.Caption = "Callers are above their callees. Width: CPU time; color: the class with most of it. Click a call to see its callers, callees and share."
	if len(c.Trees) > 1 {
		c.Caption += " In a comparison, width is the sum of both; green: less, orange: more. Small differences may be chance."
	}
	first := runs[0].tree
	if p, all := first.Pruned, runs[0].profile.CPU(); p > 0 && all > 0 {
		c.Caption += formatf(" Small calls (%s of the time) are merged into their callers, so search totals are lower bounds. For every call: --pprof FILE.",
			unit.Percent(min(p/all, 1)))
	}
	if n := first.Runs; n > 1 {
		c.Caption += formatf(" Means of %d runs that were sampled.", n)
	}
	if tb := sitesTable(runs[0].profile); tb != nil {
		if len(runs) > 1 {
			tb.Caption = "of " + runs[0].name
		}
		b.Tables = append(b.Tables, tb)
	} else {
		b.Words = []string{"No call site of the program causes memory tax by these samples."}
	}
	return b
}

// allocated draws the bytes of call paths that allocate; nil without any.
func allocated(t *result.CallTree) *Chart {
	if t == nil || len(t.Parents) == 0 {
		return nil
	}
	classes := []CallClass{{Class: result.ClassFreed, Title: "freed", Color: 1}, {Class: result.ClassInUse, Title: "in use at the end", Color: 2}}
	return &Chart{Kind: Paths, Title: "Who calls what allocates", Partly: true,
		Caption:   "Callers are above their callees. Width: bytes allocated there; color: the larger class. Click a call to see its callers, callees and share.",
		CallTrees: &CallTrees{What: "allocated", Unit: Bytes, Trees: []CallTree{newCallTree("allocations", t.Total(), classes, t)}, Classes: classes}}
}

// newCallTree makes the tree of a run as the page has it.
func newCallTree(name string, total float64, classes []CallClass, t *result.CallTree) CallTree {
	out := CallTree{Name: name, Total: total, Parents: t.Parents, Calls: t.Calls, Lines: t.Lines, Pruned: t.Pruned > 0}
	for i, f := range t.Functions {
		if f.Uncertain {
			out.Uncertain = append(out.Uncertain, i)
		}
		out.Functions, out.Files = append(out.Functions, f.Name), append(out.Files, f.File[strings.LastIndexByte(f.File, '/')+1:])
		out.Totals = append(out.Totals, [2]float64{short(t.Totals[i].Value), short(t.Totals[i].Memory)})
	}
	for i, n := range t.Self.Nodes {
		if k := slices.IndexFunc(classes, func(c CallClass) bool { return c.Class == string(t.Self.Classes[i]) }); k >= 0 {
			out.Nodes, out.Classes, out.Values = append(out.Nodes, n), append(out.Classes, k), append(out.Values, short(t.Self.Values[i]))
		}
	}
	return out
}

func callClasses() (out []CallClass) {
	for _, k := range result.Classes {
		out = append(out, CallClass{Class: string(k.Class), Title: k.Title, Color: classColors[k.Class], Light: classLight[k.Class], Memory: k.Memory})
	}
	return out
}
