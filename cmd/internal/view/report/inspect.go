package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// Inspect prints what was seen of a process, on one screen, or all processes, at most the
// first rows of them, 0 for all.
func Inspect(w io.Writer, f *result.Inspect, rows int) error {
	if err := sayRedacted(w, f.Header); err != nil {
		return err
	}
	if f.Process != nil {
		return processText(f.Process, w)
	}
	return inspectList(f, w, rows)
}

func processText(p *result.Process, w io.Writer) error {
	out := &printer{w: w}
	out.line("process %d: %s", p.PID, commandText(p.Command, p.Name))
	out.line("%s", strings.Join(About(p), ", "))
	if p.Waterfall != nil {
		out.line("")
		if err := waterfallTable(p.Waterfall).write(w, "  "); err != nil {
			return err
		}
		for _, l := range WaterfallNotes(p.Waterfall, GCText(p.Waterfall.GC, true)) {
			out.line("  %s", l)
		}
	}
	if o := p.OverTime; o != nil && len(o.Seconds) > 1 {
		out.line("")
		if err := overTimeTable(o).write(w, "  "); err != nil {
			return err
		}
		for _, l := range OverTimeWords(p) {
			out.line("  %s", l)
		}
	}
	if p.Memory != nil {
		out.line("")
		if err := memoryTable(p.Memory).write(w, "  "); err != nil {
			return err
		}
	}
	if p.Windows != nil {
		out.section(fmt.Sprintf("Windows of %s, %s each, by how much of them is in memory", Area(p),
			unit.Size(p.Windows.Size)), densityBars(p.Windows))
	}
	var short []string
	for _, s := range Short(p) {
		short = append(short, padRight(s[0], 7)+" "+s[1])
	}
	out.section("In short", short)
	if w := p.Waterfall; w != nil && len(w.Advice) > 0 {
		out.section(MemoryAdviceTitle(w), memoryAdvice(w))
	}
	if len(p.Hazards) > 0 {
		var lines []string
		for i, h := range p.Hazards {
			lines = append(lines, fmt.Sprintf("%d. %s", i+1, h))
		}
		out.section("Hazards", lines)
	}
	notes := &stat.Notes{}
	for _, n := range p.Notes {
		notes.Add(n)
	}
	out.notes(notes)
	return out.err
}

// maxCommand is how much of a command line is shown.
const maxCommand = 100

// commandText returns a command line, or the kernel's name for what has none.
func commandText(command []string, name string) string {
	text := strings.Join(command, " ")
	if text == "" {
		text = "[" + name + "]"
	}
	r := []rune(console.Line(text))
	if len(r) > maxCommand {
		return string(r[:maxCommand-3]) + "..."
	}
	return string(r)
}

// About says in a few words each what process it is.
func About(p *result.Process) (out []string) {
	switch {
	case p.IsGo == nil:
	case !*p.IsGo:
		out = append(out, "not Go")
	default:
		for _, s := range []*string{p.GoVersion, p.Module} {
			if s != nil {
				out = append(out, *s)
			}
		}
	}
	if len(p.Patches) > 0 {
		names := make([]string, len(p.Patches))
		for i, patch := range p.Patches {
			names[i], _, _ = strings.Cut(patch, "@")
		}
		out = append(out, "runtime patched: "+strings.Join(names, ", "))
	}
	switch p.HeapPatch {
	case result.HeapInMemory:
		out = append(out, "heap asks for huge pages (folio exec)")
	case result.HeapInCopy:
		out = append(out, "heap asks for huge pages (folio patch)")
	}
	if p.UID != nil {
		out = append(out, fmt.Sprintf("user %d", *p.UID))
	}
	if p.Resident != nil {
		out = append(out, unit.Size(*p.Resident)+" resident")
	}
	if p.Swapped != nil && *p.Swapped > 0 {
		out = append(out, unit.Size(*p.Swapped)+" in swap")
	}
	return out
}

func memoryTable(memory []result.Memory) *table {
	t := &table{left: map[int]bool{0: true}}
	t.add("memory", "resident", "huge", "coverage", "mapped", "swapped")
	sum := result.Memory{Swapped: new(uint64)}
	row := func(title string, m result.Memory) {
		cells := []string{title, unit.Size(m.Resident), unit.Size(m.Huge), none, unit.Size(m.Size), SizeOr(m.Swapped)}
		if m.Resident > 0 {
			cells[3] = unit.Percent(float64(m.Huge) / float64(m.Resident))
		}
		t.add(cells...)
	}
	for _, m := range memory {
		row(m.Title(), m)
		sum.Resident += m.Resident
		sum.Huge += m.Huge
		sum.Size += m.Size
		if m.Swapped == nil || sum.Swapped == nil {
			sum.Swapped = nil
		} else {
			*sum.Swapped += *m.Swapped
		}
	}
	row("all", sum)
	return t
}

// densityBars draws a bar for each step of density, the densest first.
func densityBars(w *result.Windows) []string {
	const label = 9
	line := func(name string, n int) string {
		share := 0.0
		if w.Count > 0 {
			share = float64(n) / float64(w.Count)
		}
		bar := strings.Repeat("█", int(share*barWidth+0.5))
		if bar == "" && n > 0 {
			bar = "▏"
		}
		return fmt.Sprintf("%*s  %s %7s", label, name, padRight(bar, barWidth), unit.Count(float64(n)))
	}
	if w.Count == 0 {
		return []string{"none: nothing is in memory"}
	}
	out := []string{line("huge", w.Huge)}
	for i := result.DensityBins - 1; i >= 0; i-- {
		out = append(out, line(fmt.Sprintf("%d-%d%%", 100/result.DensityBins*i, 100/result.DensityBins*(i+1)), w.Density[i]))
	}
	return out
}

// Area names the memory that the windows are of.
func Area(p *result.Process) string {
	if p.OfGoHeap() {
		return "the Go heap"
	}
	return "anonymous memory"
}

// CollapseHint is the command that puts the dense windows on huge pages; "" if there are
// none to gain by it.
func CollapseHint(p *result.Process) string {
	switch {
	case p.Windows == nil || p.Windows.Gain == 0:
		return ""
	case p.OfGoHeap():
		return fmt.Sprintf("folio collapse %d", p.PID)
	}
	return fmt.Sprintf("folio collapse --all-anonymous %d", p.PID)
}

// Short lists the figures that need a sentence, each with its name.
func Short(p *result.Process) (out [][2]string) {
	add := func(name, format string, args ...any) {
		out = append(out, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if text := p.Pages(); text != "" {
		add("pages", "%s", text)
	}
	if w := p.Windows; w != nil {
		text := fmt.Sprintf("%s in %s could be on huge pages", unit.Size(w.Gain), unit.Plural(int(w.Dense), "dense window"))
		if line := CollapseHint(p); line != "" {
			text += fmt.Sprintf(", and would take %s more (%s)", unit.Size(w.Fill), line)
		}
		add("gain", "%s", text)
	}
	switch b := p.Bloat; {
	case b == nil:
	case b.Pages == 0:
		add("bloat", "none: there are no huge pages")
	case b.Read == b.Pages:
		add("bloat", "at most %s: base pages of huge pages that hold nothing but zeros", unit.Size(b.Most))
	default:
		add("bloat", "at most about %s: base pages that hold nothing but zeros, in %d of %s huge pages that were read",
			unit.Size(b.Most), b.Read, unit.Count(float64(b.Pages)))
	}
	if f := p.Faults; f != nil && f.Seconds > 0 {
		add("faults", "%s minor, %s major a second (over %s)", unit.Count(float64(f.Minor)/f.Seconds),
			unit.Count(float64(f.Major)/f.Seconds), unit.Seconds(f.Seconds))
	}
	if text := LimitText(p); text != "" {
		add("limit", "%s", text)
	}
	add("policy", "%s", policyWords(p.Policy))
	add("", "%s", p.Policy.Means)
	return out
}

// policyWords lists what is known of the policy.
func policyWords(p result.Policy) string {
	var parts []string
	if p.Enabled != nil {
		parts = append(parts, "THP "+*p.Enabled)
	}
	if p.Defrag != nil {
		parts = append(parts, "defrag "+*p.Defrag)
	}
	if n := p.MaxPtesNone; n != nil {
		parts = append(parts, fmt.Sprintf("max_ptes_none %d", *n))
	}
	switch {
	case p.Allowed == nil:
	case *p.Allowed:
		parts = append(parts, "process allows")
	default:
		parts = append(parts, "process opted out")
	}
	if p.Advised != nil && *p.Advised > 0 {
		parts = append(parts, "advised "+unit.Size(*p.Advised))
	}
	if p.Against != nil && *p.Against > 0 {
		parts = append(parts, "advised against "+unit.Size(*p.Against))
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, ", ")
}

func inspectList(f *result.Inspect, w io.Writer, rows int) error {
	out := &printer{w: w}
	var all []result.ProcessLine
	if f.Processes != nil {
		all = *f.Processes
	}
	shown := all
	if rows > 0 && len(shown) > rows {
		shown = shown[:rows]
	}
	if len(all) == 0 {
		out.line("no process that could be looked at has a window (%s) of anonymous memory", unit.Size(f.WindowBytes))
	} else {
		t := &table{left: map[int]bool{2: true, 8: true}}
		t.add("pid", "user", "go", "resident", "huge", "coverage", "gain", "sparse", "command")
		for _, r := range shown {
			if r.Windows == nil {
				continue
			}
			t.add(strconv.Itoa(r.PID), userText(r.UID), goText(r.GoVersion), unit.Size(r.Resident), unit.Size(r.Windows.HugeSize),
				unit.Percent(r.Windows.Coverage), unit.Size(r.Windows.Gain), unit.Count(float64(r.Windows.Sparse)), commandText(r.Command, r.Name))
		}
		if err := t.write(w, ""); err != nil {
			return err
		}
	}
	out.line("")
	if n := len(all) - len(shown); n > 0 {
		out.line("and %d more with less to gain (--rows)", n)
	}
	out.line("gain: what could be on huge pages and is not. Of Go programs the heap counts, of others all anonymous memory.")
	if u := f.Unseen; u != nil && u.Denied > 0 {
		out.line("not looked at: %d of other users or protected, with %s of anonymous memory: CAP_SYS_PTRACE (sudo) opens all but what a security module or another user namespace protects", u.Denied,
			unit.Size(u.DeniedBytes))
	}
	if u := f.Unseen; u != nil && u.Hidden != nil {
		out.line("not seen: %s", *u.Hidden)
	}
	return out.err
}

func userText(uid *int) string {
	if uid == nil {
		return none
	}
	return strconv.Itoa(*uid)
}

func goText(version *string) string {
	if version == nil {
		return none
	}
	return strings.TrimPrefix(*version, "go")
}
