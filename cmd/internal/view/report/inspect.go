package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// maxCommand is how much of a command line is shown.
const maxCommand = 100

// Command returns a command line, or the kernel's name for what has none.
func Command(command []string, name string) string {
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
	case p.Maker != "":
		out = append(out, madeBy(p.Maker))
	case p.IsGo == nil:
	case !*p.IsGo && p.Waterfall != nil && len(p.Waterfall.Runtimes) > 0: // see below
	case !*p.IsGo:
		out = append(out, "not Go")
	default:
		if p.GoVersion != nil {
			out = append(out, *p.GoVersion)
		}
		if p.Module != nil && *p.Module != p.Name {
			out = append(out, *p.Module)
		}
	}
	if p.Memfd {
		out = append(out, "executed from memory (memfd)")
	}
	if p.Waterfall != nil {
		out = append(out, RuntimeNames(p.Waterfall.Runtimes)...)
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
	if rss := p.RSS(); rss != nil {
		out = append(out, unit.Size(*rss)+" resident")
	}
	if p.Swapped != nil && *p.Swapped > 0 {
		out = append(out, unit.Size(*p.Swapped)+" in swap")
	}
	return out
}

// madeBy says who made a program.
func madeBy(maker string) string {
	switch maker {
	case result.MadeByUPX:
		return "packed (UPX)"
	case result.MadeByGarble:
		return "obfuscated (garble)"
	}
	return "built with " + maker
}

// RuntimeNames names the Go libraries and plugins of a process, in a few words each.
func RuntimeNames(all []result.GoRuntime) (out []string) {
	for _, r := range all {
		if !r.Program {
			text := "Go library " + console.Line(r.Name())
			if r.GoVersion != nil {
				text += ", " + *r.GoVersion
			}
			switch {
			case r.Heap != nil:
				text += ": Go heap " + unit.Size(*r.Heap)
			case r.Reason != nil:
				text += ": not read"
			}
			out = append(out, text)
		}
		for _, p := range r.Plugins {
			out = append(out, "Go plugin "+console.Line(filepath.Base(p)))
		}
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

// NoGain says why huge pages could hold no more of a process. It must have windows.
func NoGain(p *result.Process) string {
	w := p.Windows
	switch {
	case w.Resident+w.Cut < w.Size:
		return fmt.Sprintf("less than %s of %s", unit.Exact(w.Size), Area(p))
	case w.OptedOut != nil && *w.OptedOut > 0:
		return fmt.Sprintf("the dense windows of %s are marked MADV_NOHUGEPAGE", Area(p))
	case w.HugeSize > 0:
		return fmt.Sprintf("%s of %s is on them, and no other window is dense enough", unit.Percent(w.Coverage), Area(p))
	}
	return "no window of " + Area(p) + " is dense enough"
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
		if w.Gain > 0 {
			text += fmt.Sprintf(", and would take %s more", unit.Size(w.Fill))
		}
		if p.Collapse != "" {
			text += " (" + p.Collapse + ")"
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
	add("in effect", "%s", p.Policy.Means)
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
