package profile

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"

	"github.com/foliomem/folio/internal/system/perf"
)

// A Tree is the CPU time of a run by call path, or the bytes that it allocated: what a
// flame graph draws. It has columns, one entry for each node; parents come before what
// they call. Of several runs together it is their mean.
type Tree struct {
	Runs      int        `json:"runs"`
	Unit      string     `json:"unit" redact:"keep"` // of values: [UnitSeconds] or [UnitBytes]
	Functions []Function `json:"functions"`
	Totals    []Total    `json:"function_totals"` // of each of Functions
	// Parents are the nodes that call, -1 for the outermost; Calls are indices of
	// Functions. Lines are the lines at which most of the time of the node was spent, in
	// itself or in what is called there; 0 if unknown.
	Parents []int `json:"parents"`
	Calls   []int `json:"calls"`
	Lines   []int `json:"lines"`
	// Self is what was spent in nodes themselves.
	Self Self `json:"self"`
	// Pruned was spent on paths that are too small to keep: it is in the own value of the
	// last call on the path that was kept.
	Pruned float64 `json:"pruned"`
}

// Units of a tree.
const (
	UnitSeconds = "seconds" // of CPU time
	UnitBytes   = "bytes"   // allocated
)

// A Function is what was called.
type Function struct {
	Name      string `json:"name" redact:"keep"`
	File      string `json:"file,omitempty" redact:"file"`
	Uncertain bool   `json:"uncertain,omitempty"`
}

// A Total is all that a function and what it calls spent, on all paths, those that are
// pruned included; of calls of itself the outermost counts.
type Total struct {
	Value float64 `json:"value"`
	// Memory is what of that is of the classes of the memory tax.
	Memory float64 `json:"memory_value"`
}

// Self is what was spent by node and class, in columns.
type Self struct {
	Nodes   []int     `json:"nodes"`
	Classes []Class   `json:"classes" redact:"keep"`
	Values  []float64 `json:"values"`
}

// Bounds of a tree that is kept in a result: its smallest path, of all time, and how many
// nodes there are.
const (
	leastPath = 0.0005
	mostNodes = 3000
)

// Stacks sums up call paths of any number of runs.
type Stacks struct {
	runs      int
	functions map[Function]int
	byIndex   []Function
	nodes     []stackNode
	index     map[edge]int
}

type edge struct{ parent, call int }

type stackNode struct {
	edge
	lines []lineTime
	self  map[Class]float64
}

type lineTime struct {
	line    int
	seconds float64
}

// NewStacks returns those of no run.
func NewStacks() *Stacks {
	return &Stacks{functions: make(map[Function]int), index: make(map[edge]int)}
}

// Stacks returns the call paths of what was collected, scaled as in the last
// [Collector.Result].
func (c *Collector) Stacks() *Stacks {
	s := NewStacks()
	s.runs = 1
	var path []Frame
	for _, e := range c.sorted() {
		if e.kind != perf.CPU {
			continue
		}
		path = c.path(e, path[:0])
		s.Add(path, c.classOf(e), float64(e.period)*c.scale[flag(e.inKernel)]/1e9)
	}
	return s
}

// A Frame is a call on a path.
type Frame struct {
	Function
	Line int // 0 if unknown
}

// path appends the calls of a stack, outermost first.
func (c *Collector) path(e *sampled, to []Frame) []Frame {
	kernel := c.kernelNames(e)
	for i := range e.kernel {
		f := Frame{Function: Function{Name: "[kernel]"}}
		if i < len(kernel) && kernel[i] != "" {
			f.Name = kernel[i]
		}
		to = append(to, f)
	}
	for i, n := range e.user {
		for _, f := range c.at(n) {
			to = append(to, c.named(n, &f))
		}
		if i > 0 {
			continue
		}
		if f, ok := c.hidden(e); ok {
			to = append(to, c.named(n, &f[0]))
		}
	}
	slices.Reverse(to)
	return to
}

func (c *Collector) named(place uint32, f *frame) Frame {
	out := Frame{Function{f.name, f.file, f.doubt}, f.line}
	if out.Name == "" {
		out.Name = "[" + filepath.Base(c.objects[c.places[place].object].path) + "]"
	}
	return out
}

// Add adds to a call path, outermost first.
func (s *Stacks) Add(path []Frame, class Class, value float64) {
	if len(path) == 0 {
		path = []Frame{{Function: Function{Name: "[unknown]"}}}
	}
	at := -1
	for _, f := range path {
		at = s.node(edge{at, s.function(f.Function)})
		s.nodes[at].spent(f.Line, value)
	}
	s.nodes[at].self[class] += value
}

func (s *Stacks) function(f Function) int {
	n, ok := s.functions[f]
	if !ok {
		n = len(s.byIndex)
		s.functions[f] = n
		s.byIndex = append(s.byIndex, f)
	}
	return n
}

func (s *Stacks) node(e edge) int {
	n, ok := s.index[e]
	if !ok {
		n = len(s.nodes)
		s.index[e] = n
		s.nodes = append(s.nodes, stackNode{edge: e, self: make(map[Class]float64, 1)})
	}
	return n
}

func (n *stackNode) spent(line int, seconds float64) {
	if i := slices.IndexFunc(n.lines, func(l lineTime) bool { return l.line == line }); i >= 0 {
		n.lines[i].seconds += seconds
		return
	}
	n.lines = append(n.lines, lineTime{line, seconds})
}

// Merge adds the paths of other runs; nil has none.
func (s *Stacks) Merge(o *Stacks) {
	if o == nil {
		return
	}
	s.runs += o.runs
	to := make([]int, len(o.nodes)) // where o's nodes are in s; parents come first
	for i := range o.nodes {
		n := &o.nodes[i]
		parent := -1
		if n.parent >= 0 {
			parent = to[n.parent]
		}
		to[i] = s.node(edge{parent, s.function(o.byIndex[n.call])})
		m := &s.nodes[to[i]]
		for _, l := range n.lines {
			m.spent(l.line, l.seconds)
		}
		for _, class := range ordered(n.self) {
			m.self[class] += n.self[class]
		}
	}
}

// Tree returns the mean of the runs, without what is too small to be looked at; nil
// where nothing was sampled.
func (s *Stacks) Tree() *Tree { return s.tree(leastPath, mostNodes) }

func (s *Stacks) tree(least float64, most int) *Tree {
	if s == nil || len(s.nodes) == 0 {
		return nil
	}
	within := make([]float64, len(s.nodes))
	total := 0.0
	for i, n := range slices.Backward(s.nodes) {
		for _, class := range ordered(n.self) {
			within[i] += n.self[class]
		}
		if n.parent >= 0 {
			within[n.parent] += within[i]
		} else {
			total += within[i]
		}
	}
	// The largest first; a call has no more time than its caller, which comes before it.
	order := make([]int, len(s.nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(within[b], within[a]) })
	keep := make([]bool, len(s.nodes))
	for _, i := range order[:min(len(order), most)] {
		keep[i] = within[i] >= least*total && within[i] > 0
	}
	runs := max(s.runs, 1)
	out := &Tree{Runs: runs, Unit: UnitSeconds, Functions: []Function{}, Parents: []int{}, Calls: []int{}, Lines: []int{}}
	out.Self = Self{Nodes: []int{}, Classes: []Class{}, Values: []float64{}}
	functions := make(map[Function]int)
	node := func(f Function, parent, line int) int {
		at, ok := functions[f]
		if !ok {
			at = len(out.Functions)
			functions[f] = at
			out.Functions = append(out.Functions, f)
		}
		out.Parents, out.Calls, out.Lines = append(out.Parents, parent), append(out.Calls, at), append(out.Lines, line)
		return len(out.Parents) - 1
	}
	small := -1 // the node of paths of which nothing is kept
	to := make([]int, len(s.nodes))
	self := make(map[int]map[Class]float64)
	for i := range s.nodes {
		n := &s.nodes[i]
		parent := -1
		if n.parent >= 0 {
			parent = to[n.parent]
		}
		switch {
		case keep[i]:
			to[i] = node(s.byIndex[n.call], parent, n.line())
		case parent >= 0:
			to[i] = parent
		default:
			if small < 0 {
				small = node(Function{Name: "[small paths]"}, -1, 0)
			}
			to[i] = small
		}
		for _, class := range ordered(n.self) {
			v := n.self[class] / float64(runs)
			if !keep[i] {
				out.Pruned += v
			}
			if self[to[i]] == nil {
				self[to[i]] = make(map[Class]float64)
			}
			self[to[i]][class] += v
		}
	}
	out.Totals = make([]Total, len(out.Functions))
	for f, t := range s.totals(runs) {
		if at, ok := functions[f]; ok {
			out.Totals[at] = t
		}
	}
	if small >= 0 { // it is not a function of the program
		at := out.Calls[small]
		for _, class := range ordered(self[small]) {
			out.Totals[at].add(class, self[small][class])
		}
	}
	for i := range out.Parents {
		for _, class := range ordered(self[i]) {
			out.Self.Nodes, out.Self.Classes = append(out.Self.Nodes, i), append(out.Self.Classes, class)
			out.Self.Values = append(out.Self.Values, self[i][class])
		}
	}
	return out
}

func (t *Total) add(class Class, v float64) {
	t.Value += v
	if class.Info().Memory {
		t.Memory += v
	}
}

// totals returns what each function spent, the mean of the runs.
func (s *Stacks) totals(runs int) map[Function]Total {
	within := make([]Total, len(s.nodes))
	for i, n := range slices.Backward(s.nodes) {
		for _, class := range ordered(n.self) {
			within[i].add(class, n.self[class]/float64(runs))
		}
		if n.parent >= 0 {
			within[n.parent].Value += within[i].Value
			within[n.parent].Memory += within[i].Memory
		}
	}
	out := make(map[Function]Total)
	for i := range s.nodes {
		outermost := true
		for up := s.nodes[i].parent; up >= 0 && outermost; up = s.nodes[up].parent {
			outermost = s.nodes[up].call != s.nodes[i].call
		}
		if outermost {
			f := s.byIndex[s.nodes[i].call]
			out[f] = Total{out[f].Value + within[i].Value, out[f].Memory + within[i].Memory}
		}
	}
	return out
}

// ordered returns the classes that have a value, in one order: sums do not change from
// run to run.
func ordered(of map[Class]float64) []Class {
	var out []Class
	for class, v := range of {
		if v > 0 {
			out = append(out, class)
		}
	}
	slices.Sort(out)
	return out
}

// line is where most of the time was spent.
func (n *stackNode) line() int {
	best := slices.MaxFunc(n.lines, func(a, b lineTime) int {
		return cmp.Or(cmp.Compare(a.seconds, b.seconds), cmp.Compare(b.line, a.line))
	})
	return best.line
}

// Valid says that a tree which was read from a file is one.
func (t *Tree) Valid() bool {
	n := len(t.Parents)
	for _, f := range t.Totals {
		if !(f.Memory >= 0) || !(f.Value >= f.Memory) || math.IsInf(f.Value, 0) {
			return false
		}
	}
	if t.Runs < 1 || len(t.Totals) != len(t.Functions) || len(t.Calls) != n || len(t.Lines) != n || len(t.Self.Classes) != len(t.Self.Nodes) || len(t.Self.Values) != len(t.Self.Nodes) {
		return false
	}
	for i := range n {
		if t.Parents[i] < -1 || t.Parents[i] >= i || t.Calls[i] < 0 || t.Calls[i] >= len(t.Functions) || t.Lines[i] < 0 {
			return false
		}
	}
	for i, node := range t.Self.Nodes {
		if v := t.Self.Values[i]; node < 0 || node >= n || !(v >= 0) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// Total is all that is in the tree.
func (t *Tree) Total() (sum float64) {
	for _, v := range t.Self.Values {
		sum += v
	}
	return sum
}
