package html

import (
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/result"
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
	c := &Chart{Kind: Paths, Title: "Who calls what costs", Partly: true,
		CallTrees: &CallTrees{What: "CPU time", Unit: Seconds, Memory: true, Classes: callClasses()}}
	b := &Block{Title: "Memory tax by call path", Charts: []*Chart{c}}
	for i, r := range runs {
		if r.tree == nil || r.profile == nil || len(r.tree.Parents) == 0 {
			if i == 0 {
				return nil
			}
			continue
		}
		c.Trees = append(c.Trees, CallTree{Name: r.name, Total: r.profile.CPU(), Tree: r.tree})
	}
	c.Caption = "Callers above what they call, as wide as their CPU time. Click a call to see what it calls, who calls it, and its share."
	if len(c.Trees) > 1 {
		c.Caption += " Comparisons are as wide as both together: green has become less, orange more. By samples: small differences may be chance."
	}
	first := c.Trees[0]
	if p := first.Tree.Pruned; p > 0 && first.Total > 0 {
		c.Caption += formatf(" Paths of less than 0.05%% are part of their callers (%s of the time).", unit.Percent(min(p/first.Total, 1)))
	}
	if n := first.Tree.Runs; n > 1 {
		c.Caption += formatf(" Means of %d runs that were sampled.", n)
	}
	if tb := sitesTable(runs[0].profile); tb != nil {
		if len(runs) > 1 {
			tb.Caption += " (" + runs[0].name + ")"
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
	return &Chart{Kind: Paths, Title: "Who calls what allocates", Partly: true,
		Caption: "Callers above what they call, as wide as the bytes that were allocated there. Click a call to see what it calls, who calls it, and its share.",
		CallTrees: &CallTrees{What: "allocated", Unit: Bytes, Trees: []CallTree{{Name: "allocations", Total: t.Total(), Tree: t}},
			Classes: []CallClass{{Class: result.ClassFreed, Title: "freed", Color: 1}, {Class: result.ClassInUse, Title: "in use at the end", Color: 2}}}}
}

func callClasses() (out []CallClass) {
	for _, k := range result.Classes {
		out = append(out, CallClass{Class: string(k.Class), Title: k.Title, Color: classColors[k.Class], Light: classLight[k.Class], Memory: k.Memory})
	}
	return out
}
