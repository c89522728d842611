package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/internal/collapser"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/unit"
)

// A Collapse is what folio collapse did, or would do.
type Collapse struct {
	PID       int
	Command   []string
	Name      string // the kernel's
	GoVersion string
	Options   collapser.Options // with defaults filled in

	Plan    *collapser.Plan // of a dry run: nothing was done
	Outcome collapser.Outcome
	Before  collapser.State
	After   *collapser.State // nil if the process has ended
	Elapsed time.Duration    // of collapsing, waits included

	Ended       bool // the process did
	Interrupted bool
	Watched     bool // growth was followed
	Notes       *stat.Notes
}

// Text prints what became of the process.
func (c *Collapse) Text(w io.Writer) error {
	p := &printer{w: w}
	p.line("process %d: %s", c.PID, commandText(c.Command, c.Name))
	about := "the Go heap"
	if c.Options.All {
		about = "all anonymous memory"
	}
	if c.GoVersion != "" {
		about = c.GoVersion + ", " + about
	}
	p.line("%s", about)
	p.line("")
	if err := c.states().write(w, "  "); err != nil {
		return err
	}
	title := fmt.Sprintf("Windows, %s each", unit.Size(c.Before.Windows.Size))
	if c.Plan != nil {
		p.section(title+", that would be", c.planned())
	} else {
		p.section(title, c.outcomes())
	}
	p.notes(c.Notes)
	return p.err
}

// states compares before and after.
func (c *Collapse) states() *table {
	t := &table{left: map[int]bool{0: true}}
	cells := func(s *collapser.State) [4]string {
		if s == nil {
			return [4]string{none, none, none, none}
		}
		out := [4]string{unit.Size(s.Resident), unit.Size(s.Windows.HugeSize), unit.Percent(s.Windows.Coverage()), none}
		if s.Faults != nil {
			minor, major := s.Faults.PerSecond()
			out[3] = unit.Count(minor + major)
		}
		return out
	}
	before, after := cells(&c.Before), cells(c.After)
	head := []string{"", "before", "after"}
	if c.Plan != nil {
		head = []string{"", "now"}
	}
	t.add(head...)
	for i, name := range []string{"resident, process", "huge", "coverage", "faults/s"} {
		row := []string{name, before[i], after[i]}
		t.add(row[:len(head)]...)
	}
	return t
}

// rows lays out counts and what they are of; those of nothing are left out.
type rows []string

func (r *rows) add(n int, format string, args ...any) {
	if n > 0 {
		*r = append(*r, fmt.Sprintf("%7s  ", unit.Count(float64(n)))+fmt.Sprintf(format, args...))
	}
}

func (c *Collapse) planned() []string {
	var out rows
	p := c.Plan
	out.add(len(p.Todo), "collapsed: %s, which takes %s more memory%s", unit.Size(p.Bytes), unit.Size(p.Fill), c.atRate(p.Bytes))
	c.others(&out, p.Already, p.Sparse, p.OptedOut, p.Beyond)
	if len(p.Todo) == 0 {
		out = append(out, "nothing is to be done")
	}
	return out
}

func (c *Collapse) atRate(bytes uint64) string {
	if c.Options.Rate == 0 {
		return ""
	}
	return fmt.Sprintf(", in %s at %s/s", unit.Seconds(float64(bytes)/float64(c.Options.Rate)), unit.Size(c.Options.Rate))
}

func (c *Collapse) others(out *rows, already, sparse, optedOut, beyond int) {
	out.add(already, "huge already")
	out.add(sparse, "left alone: less than %.0f%% in memory", 100*c.Options.MinDensity)
	out.add(optedOut, "left alone: the program advised against huge pages there (MADV_NOHUGEPAGE)")
	out.add(beyond, "left alone: beyond --budget %s", unit.Size(c.Options.Budget))
}

func (c *Collapse) outcomes() []string {
	var out rows
	o := c.Outcome
	if o.Collapsed > 0 {
		text := fmt.Sprintf("collapsed: %s in %s", unit.Size(o.Bytes), unit.Duration(c.Elapsed))
		if s := o.Spent.Seconds(); s > 0 {
			text += fmt.Sprintf(", %s of it in the kernel (%s/s)", unit.Duration(o.Spent), unit.Bytes(float64(o.Bytes)/s))
		}
		out.add(o.Collapsed, "%s", text)
	}
	c.others(&out, o.Already, o.Sparse, o.OptedOut, o.Beyond)
	out.add(o.Gone, "given back by the program before their turn")
	out.add(o.Later, "left for later: refused, or given back by the program, a short while ago")
	for _, word := range slices.Sorted(maps.Keys(o.Refused)) {
		out.add(o.Refused[word], "refused by the kernel: %s", word)
	}
	switch {
	case c.Ended:
		out.add(o.Left, "not reached: the process ended")
	case c.Interrupted:
		out.add(o.Left, "not reached: interrupted")
	default:
		out.add(o.Left, "not tried: the kernel has no huge pages left")
	}
	if len(out) == 0 {
		out = append(out, "none: nothing of it is in memory")
	}
	return out
}

// CollapseLine says in a line what one look of --watch did.
func CollapseLine(o collapser.Outcome) string {
	parts := []string{fmt.Sprintf("%s collapsed in %s", unit.Size(o.Bytes), unit.Of(o.Collapsed, "window"))}
	for _, word := range slices.Sorted(maps.Keys(o.Refused)) {
		parts = append(parts, fmt.Sprintf("%d refused: %s", o.Refused[word], word))
	}
	if o.Filled > 0 {
		parts = append(parts, unit.Size(o.Filled)+" of memory more")
	}
	return strings.Join(parts, ", ")
}

// CollapseSchema is the version of the JSON that folio collapse writes:
// docs/collapse.md.
const CollapseSchema = "folio-collapse/1"

type collapseFile struct {
	Schema  string    `json:"schema"`
	Folio   string    `json:"folio_version"`
	Created time.Time `json:"created"`

	PID       int      `json:"pid"`
	Command   []string `json:"command"`
	GoVersion *string  `json:"go_version"`

	All        bool    `json:"all_anonymous"`
	MinDensity float64 `json:"min_density"`
	Budget     *uint64 `json:"budget_bytes"`
	Rate       *uint64 `json:"rate_bytes_per_second"`

	DryRun      bool `json:"dry_run"`
	Watched     bool `json:"watched"`
	Ended       bool `json:"process_ended"`
	Interrupted bool `json:"interrupted"`

	Windows  collapseWindows `json:"windows"`
	Bytes    uint64          `json:"collapsed_bytes"`
	Filled   uint64          `json:"filled_bytes"`
	Elapsed  float64         `json:"elapsed_seconds"`
	InKernel float64         `json:"kernel_seconds"`
	Reason   *string         `json:"refused_reason"`

	Before *stateJSON `json:"before"`
	After  *stateJSON `json:"after"`
	Notes  []string   `json:"notes"`
}

type collapseWindows struct {
	Collapsed int            `json:"collapsed"`
	Already   int            `json:"already_huge"`
	Sparse    int            `json:"sparse"`
	OptedOut  int            `json:"opted_out"`
	Beyond    int            `json:"beyond_budget"`
	Gone      int            `json:"gone"`
	Later     int            `json:"later"`
	Left      int            `json:"not_tried"`
	Refused   map[string]int `json:"refused"`
}

type stateJSON struct {
	Resident uint64       `json:"resident_bytes"`
	Windows  *WindowsJSON `json:"windows"`
	Faults   *FaultsJSON  `json:"faults"`
}

func newState(s *collapser.State) *stateJSON {
	if s == nil {
		return nil
	}
	return &stateJSON{s.Resident, newWindows(s.Windows), newFaults(s.Faults)}
}

// JSON returns it as JSON has it. In a dry run the windows are what would become of
// them.
func (c *Collapse) JSON(folio string, now time.Time) ([]byte, error) {
	o := c.Outcome
	f := collapseFile{
		Schema: CollapseSchema, Folio: folio, Created: now.UTC(),
		PID: c.PID, Command: list(c.Command), GoVersion: text(c.GoVersion),
		All: c.Options.All, MinDensity: c.Options.MinDensity, Budget: bound(c.Options.Budget), Rate: bound(c.Options.Rate),
		DryRun: c.Plan != nil, Watched: c.Watched, Ended: c.Ended, Interrupted: c.Interrupted,
		Windows: collapseWindows{o.Collapsed, o.Already, o.Sparse, o.OptedOut, o.Beyond, o.Gone, o.Later, o.Left, o.Refused},
		Bytes:   o.Bytes, Filled: o.Filled, Elapsed: c.Elapsed.Seconds(), InKernel: o.Spent.Seconds(),
		Before: newState(&c.Before), After: newState(c.After), Notes: list(c.Notes.Texts()),
	}
	if p := c.Plan; p != nil {
		f.Windows = collapseWindows{Collapsed: len(p.Todo), Already: p.Already, Sparse: p.Sparse, OptedOut: p.OptedOut, Beyond: p.Beyond}
		f.Bytes, f.Filled = p.Bytes, p.Fill
	}
	if f.Windows.Refused == nil {
		f.Windows.Refused = map[string]int{}
	}
	if o.Reason != nil {
		f.Reason = text(o.Reason.Error())
	}
	return indented(f)
}

// bound returns nil for no bound.
func bound(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}
