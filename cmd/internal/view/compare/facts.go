package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Difference is one thing beside the figures in which two results differ.
type Difference struct{ What, Old, New string }

// A fact is one thing that a result says of where it is from; "" is unknown.
type fact struct{ what, value string }

// NotInterleaved stands beside figures of two results: no verdict is possible.
const NotInterleaved = "Not interleaved: a difference may be the machine's."

// kinds names what a result is, with its article.
var kinds = map[string]string{
	result.KindRun: "a run", result.KindTune: "a search", result.KindAttach: "a window of a running process (--attach)", "lab": "a lab",
	"process": "a look at a process", "list": "a look at all processes", "doctor": "a diagnosis",
	result.KindCharge: "what a cgroup is charged for",
}

// facts reads what a result says of where it is from.
func (s *Set) facts(r *result.Result) {
	head := r.Header()
	s.kind, s.created, s.redacted = head.Kind, head.Created, head.Redacted
	switch f := r.Of.(type) {
	case *result.File:
		s.target = f.Metric
		s.complete(f.Complete, f.Error)
		s.program(f)
		s.host(f.Host, head.Folio)
	case *result.Lab:
		s.complete(f.Complete, f.Error)
		for _, e := range f.Experiments {
			s.fact("size of "+e.Name, unit.Exact(e.Parameters.SizeBytes))
		}
		s.limits(f.Limits)
		s.host(f.Host, head.Folio)
	case *result.Doctor:
		if p := f.Process; p != nil {
			s.process(p.PID, p.Command, p.GoVersion)
		} else {
			s.fact("process", "none")
		}
		s.host(f.Host, head.Folio)
	case *result.Charge:
		s.fact("cgroup", f.Cgroup)
		s.fact("cgroup version", fmt.Sprint(f.Version))
		if f.Limit != nil {
			s.fact("limit", unit.Size(*f.Limit))
		}
		s.fact("folio", head.Folio)
	case *result.Inspect:
		if p := f.Process; p != nil {
			s.process(p.PID, p.Command, p.GoVersion)
		}
		s.fact("folio", head.Folio)
	}
}

// hidden are facts of which a redacted result says only that there is something.
var hidden = []string{"arguments", "input", "ready", "load", "env", "process", "command"}

func (s *Set) fact(what, value string) {
	if s.redacted && slices.Contains(hidden, what) && strings.Contains(value, "...") {
		s.unsaid = append(s.unsaid, what)
		return
	}
	if value != "" {
		s.about = append(s.about, fact{what, value})
	}
}

// complete records a result that ended early, and why; a file that is still written has no
// reason yet.
func (s *Set) complete(is bool, why string) {
	switch {
	case is:
	case why == "":
		s.ended = " yet"
	default:
		s.ended = " (" + why + ")"
	}
}

func (s *Set) program(f *result.File) {
	p := f.Program
	if len(p.Command) > 0 {
		s.fact("command", result.Quote(p.Command[0]))
		s.fact("arguments", orNone(quoted(p.Command[1:])))
	}
	if p.Build != nil {
		s.fact("built from", p.Build.Package+" with "+strings.Join(p.Build.Patches, ", "))
	}
	s.fact("input", orNone(p.Input))
	s.fact("ready", orNone(p.Ready))
	s.fact("load", orNone(p.Load))
	s.limits(p.Limits)
	if len(f.Arms) == 1 {
		set := f.Arms[0].Setting.Trial()
		env := set.Env
		set.Env = nil
		s.fact("setting", set.String())
		s.fact("env", orNone(quoted(env)))
	}
	if m := f.Metric; m != nil && m.Name == result.MetricBench {
		s.fact("benchmarks", strings.Join(m.Benchmarks, ", "))
	}
	if p.GoVersion != nil {
		s.fact("go", *p.GoVersion)
	}
	if p.Module != nil {
		s.fact("module", *p.Module)
	}
	s.fact("version", p.Version)
	s.fact("build", p.BuildID)
}

func (s *Set) limits(l *result.Limits) {
	text := ""
	if l != nil {
		text = l.String()
	}
	s.fact("limits", orNone(text))
}

func (s *Set) process(pid int, command []string, goVersion *string) {
	s.fact("process", fmt.Sprint(pid))
	s.fact("command", quoted(command))
	if goVersion != nil {
		s.fact("go", *goVersion)
	}
}

func (s *Set) host(h result.Host, folio string) {
	if s.redacted {
		s.unsaid = append(s.unsaid, "host")
	}
	s.fact("host", h.Name)
	s.fact("system", strings.Trim(h.OS+"/"+h.Arch, "/"))
	s.fact("kernel", h.Kernel)
	s.fact("cpu", h.CPU)
	if h.CPUs > 0 {
		s.fact("CPUs", fmt.Sprint(h.CPUs))
	}
	for _, x := range []struct {
		what  string
		bytes *uint64
	}{{"memory", h.MemoryBytes}, {"huge page", h.HugePageBytes}} {
		if x.bytes != nil {
			s.fact(x.what, unit.Size(*x.bytes))
		}
	}
	if h.CgroupLimitBytes != nil {
		s.fact("cgroup limit", unit.Size(*h.CgroupLimitBytes))
	} else if h.OS != "" {
		s.fact("cgroup limit", "none")
	}
	if h.PageBytes > 0 {
		s.fact("page", unit.Size(h.PageBytes))
	}
	if h.THPEnabled != nil {
		s.fact("THP", *h.THPEnabled)
	}
	if h.THPDefrag != nil {
		s.fact("THP defrag", *h.THPDefrag)
	}
	if h.THPMaxPtesNone != nil {
		s.fact("max_ptes_none", fmt.Sprint(*h.THPMaxPtesNone))
	}
	s.fact("folio", folio)
}

// benchFacts are configuration keys of the Go benchmark format that say the same as a
// fact of a result.
var benchFacts = map[string]string{"thp-enabled": "THP", "thp-defrag": "THP defrag"}

// configured reads what the configuration of a benchmark file says.
func (s *Set) configured() {
	one := func(key string) string {
		if v := s.config[key]; len(v) <= 3 {
			return strings.Join(v, ", ")
		}
		return ""
	}
	s.fact("setting", s.setting())
	s.fact("system", strings.Trim(one("goos")+"/"+one("goarch"), "/"))
	var keys []string
	for k := range s.config {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if k == "goos" || k == "goarch" || slices.Contains(settingKeys, k) || slices.Contains(armKeys, k) && len(s.arms) > 1 {
			continue
		}
		what := k
		if f, ok := benchFacts[k]; ok {
			what = f
		}
		s.fact(what, one(k))
	}
}

// setting names the one setting of a benchmark file that folio wrote, "" for others.
func (s *Set) setting() string {
	if len(s.arms) != 1 || len(s.config["gogc"]) != 1 {
		return ""
	}
	one := func(key string) string {
		if v := s.config[key]; len(v) == 1 && v[0] != "default" {
			return v[0]
		}
		return ""
	}
	set, err := result.ReadSetting(one)
	if err != nil {
		return "unknown: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	switch build := one("build"); {
	case build == "":
		return set.String()
	case set.IsZero():
		return build
	default:
		return build + " " + set.String()
	}
}

func quoted(words []string) string {
	var out []string
	for _, w := range words {
		out = append(out, result.Quote(w))
	}
	return strings.Join(out, " ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// refuse says why two results cannot be compared, nil if they can.
func refuse(before, after *Set) error {
	a, b := before.kind, after.kind
	if a != "" && b != "" && a != b {
		return fmt.Errorf("%s is %s and %s is %s: these do not compare; measure both in the same way", before.Name,
			kinds[a], after.Name, kinds[b])
	}
	x, y := before.target, after.target
	pattern := x != nil && y != nil && x.Pattern != y.Pattern && !before.redacted && !after.redacted
	if x != nil && y != nil && (x.Name != y.Name || pattern || x.Higher != y.Higher) {
		return fmt.Errorf("%s has the metric %s and %s the metric %s: these do not compare; measure both with the same --metric",
			before.Name, targetName(x), after.Name, targetName(y))
	}
	return nil
}

func targetName(t *result.Target) string {
	out := t.Name
	if t.Pattern != "" {
		out += "=" + t.Pattern
	}
	if t.Higher {
		out += " (higher is better)"
	}
	return out
}

// differ fills in what the two results differ in, and what only one of them says.
func (c *Comparison) differ(before, after *Set) {
	value := func(s *Set, what string) string {
		i := slices.IndexFunc(s.about, func(f fact) bool { return f.what == what })
		if i < 0 {
			return ""
		}
		return s.about[i].value
	}
	for _, f := range before.about {
		switch other := value(after, f.what); {
		case other == "":
			c.OnlyOldSays = append(c.OnlyOldSays, f.what)
		case other != f.value:
			c.Differs = append(c.Differs, Difference{f.what, f.value, other})
		}
	}
	for _, f := range after.about {
		if value(before, f.what) == "" {
			c.OnlyNewSays = append(c.OnlyNewSays, f.what)
		}
	}
	for _, what := range before.unsaid {
		if slices.Contains(after.unsaid, what) {
			c.Unsaid = append(c.Unsaid, what)
		}
	}
	if !before.created.IsZero() && !after.created.IsZero() {
		if before.created.Equal(after.created) {
			return
		}
		old, now := apart(before.created, after.created)
		c.Differs = append(c.Differs, Difference{Measured, formatTime(before.created, old), formatTime(after.created, now)})
	}
}

// Measured is the difference of two results in when they were measured.
const Measured = "measured"

func formatTime(t time.Time, apart string) string { return fmt.Sprintf("%s (%s)", when(t), apart) }

func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// apart says of each of two moments which is the earlier one, and by how much the second is.
func apart(a, b time.Time) (first, second string) {
	d := b.Sub(a)
	first, second = "earlier", "later"
	if d < 0 {
		d, first, second = -d, second, first
	}
	switch {
	case d >= 48*time.Hour:
		second = unit.Plural(int(d/(24*time.Hour)), "day") + " " + second
	case d >= 2*time.Hour:
		second = unit.Plural(int(d/time.Hour), "hour") + " " + second
	case d >= time.Minute:
		second = unit.Plural(int(d/time.Minute), "minute") + " " + second
	default:
		second = "less than a minute " + second
	}
	return first, second
}
