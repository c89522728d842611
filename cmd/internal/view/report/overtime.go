package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// LimitText says how near a process is to the memory limit of its cgroup; "" for none.
func LimitText(p *result.Process) string {
	l := p.Limit
	if l == nil || l.Bytes == 0 {
		return ""
	}
	text := fmt.Sprintf("its cgroup has a limit of %s, and", unit.Size(l.Bytes))
	if rss, ok := Charged(p); ok {
		of, whose := "RSS", "the limit of its cgroup"
		if all, _ := RSS(p); all > rss {
			of = fmt.Sprintf("RSS, but for %s that are charged to no cgroup,", unit.Size(all-rss))
		}
		text = fmt.Sprintf("%s is %s of %s, %s, which", of, unit.Percent(float64(rss)/float64(l.Bytes)), whose, unit.Size(l.Bytes))
		if rss > l.Bytes {
			text = fmt.Sprintf("%s is %s, more than %s, %s: some of it is charged to other cgroups, or to none. The cgroup", of, unit.Size(rss), whose, unit.Size(l.Bytes))
		}
	}
	text += " uses " + unit.Size(l.InUse())
	if l.InactiveFile > 0 {
		text += fmt.Sprintf(" and %s of page cache that the kernel takes back easily", unit.Size(min(l.InactiveFile, l.Used)))
	}
	return text
}

// RSS is what a process has in memory; ok is false if that could not be seen.
func RSS(p *result.Process) (bytes uint64, ok bool) {
	switch {
	case p.Waterfall != nil:
		return p.Waterfall.RSS, true
	case p.Resident != nil:
		return *p.Resident, true
	}
	return 0, false
}

// Charged is what of RSS can be charged to a cgroup; ok is false if RSS could not be seen.
func Charged(p *result.Process) (bytes uint64, ok bool) {
	bytes, ok = RSS(p)
	if ok && p.Waterfall != nil {
		for _, part := range p.Waterfall.Parts {
			if part.Kind == "uncharged" {
				bytes -= min(uint64(max(part.Bytes, 0)), bytes)
			}
		}
	}
	return bytes, ok
}

// GrowthText is a growth in a table: "+1.200MiB" a minute, no trend, or - where it is not
// known.
func GrowthText(g *result.Growth) string {
	switch {
	case g == nil:
		return none
	case g.Steady():
		return "no trend"
	}
	return Grown(g.PerMinute)
}

// Grown is a size with its sign.
func Grown(bytes float64) string {
	if bytes < 0 {
		return "-" + unit.Bytes(-bytes)
	}
	return "+" + unit.Bytes(bytes)
}

// GrowthWords say in sentences how the memory of a process grows: nothing without
// readings over time.
func GrowthWords(p *result.Process) (out []string) {
	o := p.OverTime
	if o == nil || len(o.RSS) == 0 {
		return nil
	}
	span := unit.ElapsedSeconds(o.Seconds[len(o.Seconds)-1])
	between := fmt.Sprintf("between %s and %s", unit.Size(slices.Min(o.RSS)), unit.Size(slices.Max(o.RSS)))
	switch g := o.Growth; {
	case g == nil:
		return []string{fmt.Sprintf("RSS is %s in %s; its growth is not known yet", between, span)}
	case g.Steady():
		out = append(out, fmt.Sprintf("RSS shows no trend in %s: %s", span, between))
	default:
		text := "RSS " + rssTrend(g)
		if part := fastest(o); g.PerMinute > 0 && part != nil {
			text += fmt.Sprintf(", most of it in: %s (%s)", part.Title(), GrowthText(part.Growth))
		}
		out = append(out, text)
	}
	if n, ok := cyclesSeen(o); ok && n < fewCycles && !o.Growth.Steady() {
		out = append(out, fmt.Sprintf("%s ended in that time: watch it for longer to see whether it goes on", unit.Plural(n, "GC cycle")))
	}
	if seconds, ok := p.UntilFull(); ok {
		out = append(out, fmt.Sprintf("at this rate its cgroup reaches its limit in %s", unit.About(time.Duration(min(seconds, 1e9)*float64(time.Second)))))
	}
	return out
}

// RSSText says by how much RSS has grown, whatever of it grows; "" if it is not known.
func RSSText(l *result.Leaks) string {
	if l.OverTime == nil || len(l.OverTime.RSS) == 0 {
		return ""
	}
	rss := l.OverTime.RSS
	levels := fmt.Sprintf("%s at first, %s at last", unit.Size(rss[0]), unit.Size(rss[len(rss)-1]))
	switch g := l.OverTime.Growth; {
	case g == nil:
		return "RSS: " + levels + "; too few readings to say how it grows"
	case g.Steady():
		return "RSS: " + levels + "; no significant trend"
	default:
		text := "RSS: " + levels
		if l.RSSPart != nil {
			text += "; most of the difference is in: " + *l.RSSPart
		}
		return text // no slope: what grows between two GC cycles need not keep growing
	}
}

// rssTrend says by how much RSS grows or shrinks that is not steady.
func rssTrend(g *result.Growth) string {
	verb := "grows"
	if g.PerMinute < 0 {
		verb = "shrinks"
	}
	return fmt.Sprintf("%s by %s a minute (95%% interval %s to %s)", verb, unit.Bytes(math.Abs(g.PerMinute)), Grown(*g.Lo), Grown(*g.Hi))
}

// fastest is the part that grows most; nil if none is known to, or if it grows by so much more
// or less than RSS that it is not where RSS grows: one part often goes into another.
func fastest(o *result.OverTime) (most *result.PartOverTime) {
	for i := range o.Parts {
		p := &o.Parts[i]
		if p.Growth != nil && !p.Growth.Steady() && p.Growth.PerMinute > 0 && (most == nil || p.Growth.PerMinute > most.Growth.PerMinute) {
			most = p
		}
	}
	if most == nil || most.Growth.PerMinute < o.Growth.PerMinute/2 || most.Growth.PerMinute > o.Growth.PerMinute*1.5 {
		return nil
	}
	return most
}

// fewCycles is how many GC cycles must have ended for a growth to be more than the way from
// one to the next.
const fewCycles = 3

// cyclesSeen is how many GC cycles ended in the time; ok is false if that is not known.
func cyclesSeen(o *result.OverTime) (n int, ok bool) {
	if last := len(o.Cycles) - 1; last >= 0 && o.Cycles[last] != nil {
		return int(*o.Cycles[last]), true
	}
	return 0, false
}

// Extremes are the first, least, most and last of values; nil for what is not known.
func Extremes(values []*int64) (out [4]*int64) {
	if len(values) == 0 {
		return out
	}
	out[0], out[3] = values[0], values[len(values)-1]
	for _, v := range values {
		if v != nil && (out[1] == nil || *v < *out[1]) {
			out[1] = v
		}
		if v != nil && (out[2] == nil || *v > *out[2]) {
			out[2] = v
		}
	}
	return out
}

// OverTimeWords are the sentences below that table.
func OverTimeWords(p *result.Process) []string {
	o := p.OverTime
	last := len(o.Seconds) - 1
	text := fmt.Sprintf("in %s:", unit.ElapsedSeconds(o.Seconds[last]))
	if n, ok := cyclesSeen(o); ok {
		text += " " + unit.Plural(n, "GC cycle") + ","
	}
	text += fmt.Sprintf(" %s minor and %s major page faults", unit.Count(float64(o.Minor[last])), unit.Count(float64(o.Major[last])))
	return append(GrowthWords(p), text)
}

// goParts are the kinds of parts that the Go runtime manages, but for the live heap.
var goParts = []string{"go_since", "go_unused", "go_free", "go_repopulated", "go_rounding", "go_stacks", "go_metadata"}

// InspectProgress says how far a process has been watched that is to be for this long.
func InspectProgress(p *result.Process, whole time.Duration) string {
	elapsed := 0.0
	if n := len(p.OverTime.Seconds); n > 0 {
		elapsed = p.OverTime.Seconds[n-1]
	}
	rss, _ := RSS(p)
	return fmt.Sprintf("process %d: %s of %s, RSS %s", p.PID, unit.ElapsedSeconds(elapsed), unit.Span(whole), unit.Size(rss))
}

// watchColumns are those of a process that is looked at again and again without a terminal:
// a line for each reading.
var watchColumns = []struct {
	head  string
	width int
	cell  func(p *result.Process) string
}{
	{"time", 8, func(p *result.Process) string {
		return unit.ElapsedSeconds(p.OverTime.Seconds[len(p.OverTime.Seconds)-1])
	}},
	{"RSS", 10, func(p *result.Process) string {
		if n, ok := RSS(p); ok {
			return unit.Size(n)
		}
		return none
	}},
	{"of limit", 8, func(p *result.Process) string {
		if n, ok := RSS(p); ok && p.Limit != nil && p.Limit.Bytes > 0 {
			return unit.Percent(float64(n) / float64(p.Limit.Bytes))
		}
		return none
	}},
	{"a minute", 10, func(p *result.Process) string { return GrowthText(p.OverTime.Growth) }},
	{"live heap", 10, func(p *result.Process) string { return partsText(p, "go_live") }},
	{"other Go", 10, func(p *result.Process) string { return partsText(p, goParts...) }},
	{"GC cycles", 9, func(p *result.Process) string {
		if p.Waterfall == nil || p.Waterfall.GC == nil {
			return none
		}
		return unit.Count(float64(p.Waterfall.GC.Cycles))
	}},
	{"minor/s", 9, func(p *result.Process) string { return faultsText(p, func(f *result.Faults) uint64 { return f.Minor }) }},
	{"major/s", 9, func(p *result.Process) string { return faultsText(p, func(f *result.Faults) uint64 { return f.Major }) }},
}

func faultsText(p *result.Process, of func(f *result.Faults) uint64) string {
	if p.Faults == nil || !(p.Faults.Seconds > 0) {
		return none
	}
	return unit.Count(float64(of(p.Faults)) / p.Faults.Seconds)
}

// partsText is what a process has of some parts of its Go heap together; - if it has none of them.
func partsText(p *result.Process, kinds ...string) string {
	sum, any := int64(0), false
	if p.Waterfall != nil && p.Waterfall.GC != nil { // without, nobody knows them
		for _, k := range kinds {
			if part := p.Waterfall.Part(k); part != nil {
				sum, any = sum+part.Bytes, true
			}
		}
	}
	if !any {
		return none
	}
	return SignedSize(sum)
}

// InspectHead says what process it is that the lines of [InspectLine] are about, and what is
// in their columns.
func InspectHead(p *result.Process) string {
	head := fmt.Sprintf("process %d: %s\n", p.PID, Command(p.Command, p.Name))
	if about := strings.Join(About(p), ", "); about != "" {
		head += about + "\n"
	}
	for _, n := range p.Notes {
		head += "note: " + n + "\n"
	}
	return head + inspectLine(func(i int) string { return watchColumns[i].head })
}

// InspectLine is a reading of a process in a line. It must have an OverTime with readings.
func InspectLine(p *result.Process) string {
	return inspectLine(func(i int) string { return watchColumns[i].cell(p) })
}

func inspectLine(cell func(i int) string) string {
	var b strings.Builder
	for i, c := range watchColumns {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(strings.Repeat(" ", max(0, c.width-len([]rune(cell(i))))) + cell(i))
	}
	return b.String() + "\n"
}
