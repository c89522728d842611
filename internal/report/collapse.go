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
func (f *CollapseFile) Text(w io.Writer) error {
	p := &printer{w: w}
	p.line("process %d: %s", f.PID, commandText(f.Command, f.Name))
	about := "the Go heap"
	if f.All {
		about = "all anonymous memory"
	}
	if f.GoVersion != nil {
		about = *f.GoVersion + ", " + about
	}
	p.line("%s", about)
	p.line("")
	if err := f.states().write(w, "  "); err != nil {
		return err
	}
	size := uint64(0)
	if f.Before != nil && f.Before.Windows != nil {
		size = f.Before.Windows.Size
	}
	title := fmt.Sprintf("Windows, %s each", unit.Size(size))
	if f.DryRun {
		p.section(title+", that would be", f.planned())
	} else {
		p.section(title, f.outcomes())
	}
	p.notes(numbered(f.Notes))
	return p.err
}

// states compares before and after.
func (f *CollapseFile) states() *table {
	t := &table{left: map[int]bool{0: true}}
	cells := func(s *CollapseState) [4]string {
		if s == nil || s.Windows == nil {
			return [4]string{none, none, none, none}
		}
		out := [4]string{unit.Size(s.Resident), unit.Size(s.Windows.HugeSize), unit.Percent(s.Windows.Coverage), none}
		if x := s.Faults; x != nil && x.Seconds > 0 {
			out[3] = unit.Count(float64(x.Minor+x.Major) / x.Seconds)
		}
		return out
	}
	before, after := cells(f.Before), cells(f.After)
	head := []string{"", "before", "after"}
	if f.DryRun {
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

func (f *CollapseFile) planned() []string {
	var out rows
	out.add(f.Windows.Collapsed, "collapsed: %s, which takes %s more memory%s", unit.Size(f.Bytes), unit.Size(f.Filled), f.atRate())
	f.others(&out)
	if f.Windows.Collapsed == 0 {
		out = append(out, "nothing is to be done")
	}
	return out
}

func (f *CollapseFile) atRate() string {
	if f.Rate == nil || *f.Rate == 0 {
		return ""
	}
	return fmt.Sprintf(", in %s at %s/s", unit.Seconds(float64(f.Bytes)/float64(*f.Rate)), unit.Size(*f.Rate))
}

func (f *CollapseFile) others(out *rows) {
	x := f.Windows
	out.add(x.Already, "huge already")
	out.add(x.Sparse, "left alone: less than %.0f%% in memory", 100*f.MinDensity)
	out.add(x.OptedOut, "left alone: the program advised against huge pages there (MADV_NOHUGEPAGE)")
	if f.Budget != nil {
		out.add(x.Beyond, "left alone: beyond --budget %s", unit.Size(*f.Budget))
	}
}

func (f *CollapseFile) outcomes() []string {
	var out rows
	o := f.Windows
	if o.Collapsed > 0 {
		text := fmt.Sprintf("collapsed: %s in %s", unit.Size(f.Bytes), unit.Seconds(f.Elapsed))
		if s := f.InKernel; s > 0 {
			text += fmt.Sprintf(", %s of it in the kernel (%s/s)", unit.Seconds(s), unit.Bytes(float64(f.Bytes)/s))
		}
		out.add(o.Collapsed, "%s", text)
	}
	f.others(&out)
	out.add(o.Gone, "released by the program before their turn")
	out.add(o.Later, "left for later: refused, or released by the program, a short while ago")
	for _, word := range slices.Sorted(maps.Keys(o.Refused)) {
		out.add(o.Refused[word], "refused by the kernel: %s", word)
	}
	switch {
	case f.Ended:
		out.add(o.Left, "not reached: the process ended")
	case f.Interrupted:
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

// A CollapseFile is what folio collapse did, or would do, as JSON has it.
type CollapseFile struct {
	Schema  string    `json:"schema"`
	Kind    string    `json:"kind"` // collapse
	Folio   string    `json:"folio_version"`
	Created time.Time `json:"created"`

	PID       int      `json:"pid"`
	Command   []string `json:"command"`
	Name      string   `json:"name"` // the kernel's
	GoVersion *string  `json:"go_version"`

	All        bool    `json:"all_anonymous"`
	MinDensity float64 `json:"min_density"`
	Budget     *uint64 `json:"budget_bytes"`
	Rate       *uint64 `json:"rate_bytes_per_second"`

	DryRun      bool `json:"dry_run"`
	Watched     bool `json:"watched"`
	Ended       bool `json:"process_ended"`
	Interrupted bool `json:"interrupted"`

	Windows  CollapseWindows `json:"windows"`
	Bytes    uint64          `json:"collapsed_bytes"`
	Filled   uint64          `json:"filled_bytes"`
	Elapsed  float64         `json:"elapsed_seconds"`
	InKernel float64         `json:"kernel_seconds"`
	Reason   *string         `json:"refused_reason"`

	Before *CollapseState `json:"before"`
	After  *CollapseState `json:"after"`
	Notes  []string       `json:"notes"`
}

// CollapseWindows says what became of the windows; in a dry run, what would.
type CollapseWindows struct {
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

// A CollapseState is how the process was.
type CollapseState struct {
	Resident uint64       `json:"resident_bytes"`
	Windows  *WindowsJSON `json:"windows"`
	Faults   *FaultsJSON  `json:"faults"`
}

func newState(s *collapser.State) *CollapseState {
	if s == nil {
		return nil
	}
	return &CollapseState{s.Resident, newWindows(s.Windows), newFaults(s.Faults)}
}

// JSON returns the file's text.
func (f *CollapseFile) JSON() ([]byte, error) { return indented(f) }

// File returns it as JSON has it.
func (c *Collapse) File(folio string, now time.Time) *CollapseFile {
	o := c.Outcome
	f := &CollapseFile{
		Schema: CollapseSchema, Kind: "collapse", Name: c.Name, Folio: folio, Created: now.UTC(),
		PID: c.PID, Command: list(c.Command), GoVersion: text(c.GoVersion),
		All: c.Options.All, MinDensity: c.Options.MinDensity, Budget: bound(c.Options.Budget), Rate: bound(c.Options.Rate),
		DryRun: c.Plan != nil, Watched: c.Watched, Ended: c.Ended, Interrupted: c.Interrupted,
		Windows: CollapseWindows{o.Collapsed, o.Already, o.Sparse, o.OptedOut, o.Beyond, o.Gone, o.Later, o.Left, o.Refused},
		Bytes:   o.Bytes, Filled: o.Filled, Elapsed: c.Elapsed.Seconds(), InKernel: o.Spent.Seconds(),
		Before: newState(&c.Before), After: newState(c.After), Notes: list(c.Notes.Texts()),
	}
	if p := c.Plan; p != nil {
		f.Windows = CollapseWindows{Collapsed: len(p.Todo), Already: p.Already, Sparse: p.Sparse, OptedOut: p.OptedOut, Beyond: p.Beyond}
		f.Bytes, f.Filled = p.Bytes, p.Fill
	}
	if f.Windows.Refused == nil {
		f.Windows.Refused = map[string]int{}
	}
	if o.Reason != nil {
		f.Reason = text(o.Reason.Error())
	}
	return f
}

// bound returns nil for no bound.
func bound(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}
