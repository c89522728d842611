package document

import (
	"math"
	"reflect"
	"slices"
	"strings"
)

// A Document is what is shown in one file.
type Document struct {
	Title    string
	Sections []*Section
	// Nav lists the sections by name, where there are several.
	Nav  bool
	Foot string
}

// A Section is a result, or a comparison of several.
type Section struct {
	ID      string   // for links, unique in the page
	From    string   // the file, where several are shown one after the other
	Kicker  string   // what kind of result it is
	Heading string   // what was measured
	Code    bool     // Heading is a command
	About   []string // what it is a result of
	Where   []string // the machine, and the time
	Verdict string   // how well runs can be compared
	First   []*Table // what must be known before the answers are read
	Answers []Answer
	Notes   []string
	Blocks  []*Block
	// Of tells the landmarks of this section from those of others; set by finish.
	Of string
	// Raw is the result file as it was read, for the list of samples and the
	// download; nil for none.
	Raw *Raw
}

// An Answer is a sentence that says what to do, or what was found.
type Answer struct {
	Goal   string // for what purpose, "" for none
	Text   string
	Figure string // the figure of it, large: "-38%"
	Sure   string // how well it is known
	Line   string // to paste into a shell, "" for none
	Detail string
	Brief  string // Detail where only the answer is shown, "" for all of it
	Steps  []Step // what to do, where that is more than a line
	Later  bool   // Steps are left out where only the answer is shown
	Main   bool
	Minor  bool // left out where only the answer is shown
	Good   bool // an improvement
	Bad    bool // something failed, or got worse
}

// A Step is a sentence, with the exact command or code if there is one.
type Step struct{ Do, Code string }

// A Block is a chart with its table, either alone, or words.
type Block struct {
	ID     string // set by finish
	Title  string
	Words  []string
	Charts []*Chart
	Tables []*Table
	Fold   bool // the tables are folded away at first
	Key    bool // part of the answer where only that is shown
	// Lead is the block's answer in a sentence, Sure how well it is known; "" for none.
	Lead, Sure string
	// Folds are what few readers want, folded away below the rest. Where there may be many,
	// More is what one of them is called.
	Folds []*Fold
	More  string
}

// HeadingsSort is part of the caption of tables that readers may sort.
const HeadingsSort = "; headings sort"

// A Table is shown as such and is what a chart is for those who do not see it.
type Table struct {
	Caption string
	Label   string // what it is called where it is not seen, unique in the page; set by finish
	Head    []Column
	Rows    []Row
	Sort    bool // rows may be sorted
	Wrap    bool // cells are sentences: let them wrap
	Bare    bool // the cells say what they are: no headings where only the answer is shown
	// Bar is the column of which bars are drawn where there are no charts; 0 for none.
	Bar int
	// More is what a row is called in a list that may be long; "" in those that are not.
	More string
}

// TextCaption is the caption where nothing can be sorted by headings.
func (t *Table) TextCaption() string { return strings.Replace(t.Caption, HeadingsSort, "", 1) }

// All are the rows where nothing is left out.
func (t *Table) All() []Row {
	return slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool { return r.Rest })
}

// A Column is a column's heading.
type Column struct {
	Label string
	Num   bool // flush right
	Minor bool // left out where only the answer is shown
	Drop  int  // left out where a line has no room, from 1 on; 0 for never
	Cut   bool // of the last column, if it has the names: shortened where a line has no room
}

// A Row is a line of a table.
type Row struct {
	Cells []Cell
	Mark  bool // what the section recommends
	Minor bool // left out where only the answer is shown
	Rest  bool // the sum of Minor ones: shown only where they are left out
}

// A Cell is a text, with the number that it is sorted by.
type Cell struct {
	Text string
	Sort *float64
	Code bool
}

// Raw is a result file.
type Raw struct {
	ID      string // set by finish
	Name    string
	File    string // the name of the download
	JSON    []byte
	Samples int
	Holds   string // what of it somebody may not want to pass on; "" for nothing
}

// Chart kinds.
const (
	XY    = "xy"    // points and lines
	Bars  = "bars"  // horizontal bars: x is the value, y the category
	Stack = "stack" // as Bars, the series behind one another
	Time  = "time"  // lanes of figures over time, that can be zoomed
	Paths = "calls" // time, or bytes, by call path
)

// Scales of an axis.
const (
	Linear = "linear"
	Log    = "log"
	Log2   = "log2" // for sizes
)

// Formats of an axis.
const (
	Bytes   = "bytes"
	Seconds = "seconds"
	Count   = "count"
	Percent = "percent"
)

// A Chart is drawn by the page's script (app.js) from its JSON form.
type Chart struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Title   string   `json:"title"`
	Caption string   `json:"-"`
	Partly  bool     `json:"-"` // the table has less than the chart
	Below   bool     `json:"-"` // its tables are those of the sections below
	X       Axis     `json:"x"`
	Y       Axis     `json:"y"`
	Series  []Series `json:"series"`
	Lines   []Line   `json:"lines,omitempty"` // upright, across the chart
	Height  int      `json:"height,omitempty"`
	// Lanes are those of Time, which ends after End seconds.
	Lanes []Lane  `json:"lanes,omitempty"`
	End   float64 `json:"end,omitempty"`
	*CallTrees
	// Hint says what a click on a point does, "" for nothing.
	Hint string `json:"hint,omitempty"`
	// Link says that what has the same name in the section's other such charts and
	// tables is highlighted together.
	Link bool `json:"link,omitempty"`
	// Runs are what Strip and Order draw. From is the chart that has them, instead.
	Runs   *Runs  `json:"runs,omitempty"`
	From   *Chart `json:"-"`
	FromID string `json:"from,omitempty"` // set by finish
}

// A Lane is a part of a timeline with a scale of its own.
type Lane struct {
	Label  string       `json:"label"`
	Format string       `json:"format"`
	Series []LaneSeries `json:"series"`
}

// A LaneSeries is a figure over time: X is seconds, in order.
type LaneSeries struct {
	Name  string    `json:"name"`
	Kind  string    `json:"kind"` // line, or stick for moments
	Color int       `json:"color"`
	Dash  bool      `json:"dash,omitempty"`
	Area  bool      `json:"area,omitempty"`
	Step  bool      `json:"step,omitempty"`
	X     []float64 `json:"x"`
	Y     []float64 `json:"y"`
	// Gaps are the points that a line does not lead to: what was before them was not read.
	Gaps []int `json:"gaps,omitempty"`
}

// CallTrees are what a chart of Paths has: of one run, or of several to compare with the
// first.
type CallTrees struct {
	What    string      `json:"what"`   // that the values are: "CPU time"
	Unit    string      `json:"unit"`   // Seconds or Bytes
	Memory  bool        `json:"memory"` // there are classes of the memory tax, which are shown first
	Classes []CallClass `json:"classes"`
	Trees   []CallTree  `json:"trees"`
}

// A CallClass is what time is spent on.
type CallClass struct {
	Class  string `json:"class"`
	Title  string `json:"title"`
	Color  int    `json:"color"`
	Light  int    `json:"light,omitempty"`
	Memory bool   `json:"memory,omitempty"`
}

// A CallTree is one run's, in short: pages have thousands of calls.
type CallTree struct {
	Name      string       `json:"name"`
	Total     float64      `json:"total"` // that shares are of
	Functions []string     `json:"f"`
	Files     []string     `json:"s"`           // of functions: the last elements
	Uncertain []int        `json:"u,omitempty"` // functions whose names are
	Totals    [][2]float64 `json:"t"`           // of functions: in all, and of the memory tax
	Parents   []int        `json:"p"`
	Calls     []int        `json:"c"`
	Lines     []int        `json:"l"`
	Nodes     []int        `json:"n"` // that have a value of their own
	Classes   []int        `json:"k"` // of those values: an index of the chart's classes
	Values    []float64    `json:"v"`
	Pruned    bool         `json:"pruned,omitempty"` // there were paths too small to keep
}

// An Axis says how values are placed and printed.
type Axis struct {
	Label      string   `json:"label"`
	Scale      string   `json:"scale,omitempty"`
	Format     string   `json:"format,omitempty"`
	Categories []string `json:"categories,omitempty"` // of Bars and Stack
	Zero       bool     `json:"zero,omitempty"`       // begins at zero
}

// A Series is points that belong together.
type Series struct {
	Name  string  `json:"name"`
	Color int     `json:"color"` // of the palette; 0 is grey
	Shape int     `json:"shape"`
	Line  bool    `json:"line,omitempty"` // joined by a line
	Step  bool    `json:"step,omitempty"` // the line goes in steps
	Bare  bool    `json:"bare,omitempty"` // only the line, no marks
	Dash  bool    `json:"dash,omitempty"`
	Ref   bool    `json:"ref,omitempty"`   // from another machine: drawn hollow
	Light int     `json:"light,omitempty"` // how much lighter than the color, up to 3
	Mute  bool    `json:"mute,omitempty"`  // only a picture: its points are those of others
	Area  bool    `json:"area,omitempty"`
	Ticks bool    `json:"ticks,omitempty"` // marks at the foot: moments without a value
	P     []Point `json:"p"`
}

// A Point is a value with its interval, and what is said of it.
type Point struct {
	X    float64     `json:"x"`
	Y    float64     `json:"y"`
	XLo  *float64    `json:"xl,omitempty"`
	XHi  *float64    `json:"xh,omitempty"`
	YLo  *float64    `json:"yl,omitempty"`
	YHi  *float64    `json:"yh,omitempty"`
	Name string      `json:"n,omitempty"`
	Text string      `json:"t,omitempty"` // beside the point
	Big  bool        `json:"b,omitempty"`
	Tip  [][2]string `json:"tip,omitempty"`
	Copy string      `json:"c,omitempty"` // what a click copies
	Ref  bool        `json:"r,omitempty"` // drawn hollow: from another machine, or not significant
}

// A Line is an upright line with a name.
type Line struct {
	At   float64 `json:"at"`
	Text string  `json:"text"`
}

// dropEmpty leaves out columns without a text.
func (t *Table) dropEmpty() {
	for i := len(t.Head) - 1; i > 0; i-- {
		if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[i].Text != "" }) {
			continue
		}
		t.Head = slices.Delete(t.Head, i, i+1)
		for j := range t.Rows {
			t.Rows[j].Cells = slices.Delete(t.Rows[j].Cells, i, i+1)
		}
	}
}

// num makes a cell that is sorted by its value.
func num(text string, v float64) Cell {
	c := Cell{Text: text}
	if v == v { // not NaN
		c.Sort = &v
	}
	return c
}

func plain(text string) Cell { return Cell{Text: text} }
func code(text string) Cell  { return Cell{Text: text, Code: true} }

// cols makes headings: the first names, the others numbers.
func cols(labels ...string) []Column {
	out := make([]Column, len(labels))
	for i, l := range labels {
		out[i] = Column{Label: l, Num: i > 0}
	}
	return out
}

// drop says which columns are left out where a line has no room, the least useful first.
func drop(head []Column, labels ...string) []Column {
	for n, l := range labels {
		for i := range head {
			if head[i].Label == l {
				head[i].Drop = n + 1
			}
		}
	}
	return head
}

// empty says that a chart has nothing to draw.
func (c *Chart) empty() bool {
	if c.Kind == Time || c.Kind == Paths {
		return len(c.Lanes) == 0 && c.CallTrees == nil
	}
	return c.Runs == nil && c.From == nil && !slices.ContainsFunc(c.Series, func(s Series) bool { return len(s.P) > 0 })
}

// finite leaves out points that have no place, and intervals that have no end:
// JSON cannot hold them, nor a chart draw them.
func (c *Chart) finite() {
	bad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	if c.Series == nil {
		c.Series = []Series{} // not null
	}
	for i := range c.Series {
		s := &c.Series[i]
		if s.P == nil {
			s.P = []Point{} // not null
		}
		s.P = slices.DeleteFunc(s.P, func(p Point) bool { return bad(p.X) || bad(p.Y) })
		for j := range s.P {
			p := &s.P[j]
			if p.XLo == nil || p.XHi == nil || bad(*p.XLo) || bad(*p.XHi) {
				p.XLo, p.XHi = nil, nil
			}
			if p.YLo == nil || p.YHi == nil || bad(*p.YLo) || bad(*p.YHi) {
				p.YLo, p.YHi = nil, nil
			}
		}
	}
}

// label is what a table of a section is called.
func (t *Table) label(of string) string {
	if t.Caption == "" {
		return "Table" + of
	}
	return "Table: " + t.Caption + of
}

// finishCharts leaves out what cannot be drawn, and gives the others an ID.
func finishCharts(charts []*Chart, of string) []*Chart {
	for _, c := range charts {
		c.finite()
	}
	charts = slices.DeleteFunc(charts, (*Chart).empty)
	for k, c := range charts {
		c.ID = of + "-c" + itoa(k)
		if c.From != nil {
			c.FromID = c.From.ID
		}
	}
	return charts
}

// finishTables leaves out those without a row.
func finishTables(tables []*Table) []*Table {
	return slices.DeleteFunc(tables, func(t *Table) bool { return len(t.Rows) == 0 })
}

// finish gives everything that needs one an ID, and makes visible what could hide in names.
func (d *Document) finish() *Document {
	taken := make(map[string]bool)
	unique := func(label string) string {
		out := label
		for n := 2; taken[out]; n++ {
			out = formatf("%s (%d)", label, n)
		}
		taken[out] = true
		return out
	}
	for i, s := range d.Sections {
		s.ID = "s" + itoa(i)
		if s.Heading == "" {
			s.Heading, s.Code = "a command that the file does not name", false
		}
		if len(d.Sections) > 1 {
			s.Of = unique(": " + s.Kicker + ", " + s.Heading)
		}
		for _, t := range s.First {
			t.Label = unique(t.label(s.Of))
		}
		for j, b := range s.Blocks {
			b.ID = s.ID + "-b" + itoa(j)
			b.Charts, b.Tables = finishCharts(b.Charts, b.ID), finishTables(b.Tables)
			for k, f := range b.Folds {
				f.ID = b.ID + "-f" + itoa(k)
				f.Charts, f.Tables = finishCharts(f.Charts, f.ID), finishTables(f.Tables)
			}
			for _, t := range b.AllTables() {
				t.Label = t.label(s.Of)
				if taken[t.Label] && b.Title != "" {
					t.Label += " of " + b.Title
				}
				t.Label = unique(t.Label)
			}
		}
		s.Blocks = slices.DeleteFunc(s.Blocks, func(b *Block) bool { return len(b.Words)+len(b.Lead)+len(b.Charts)+len(b.Tables)+len(b.Folds) == 0 })
		if s.Raw != nil {
			s.Raw.ID = s.ID + "-raw"
		}
	}
	clean(reflect.ValueOf(d))
	return d
}
