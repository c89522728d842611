package overlay

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/base/console"
)

// Lines say which patches fit a toolchain; with whole, all that is known of each.
func (l *Listing) Lines(t *Toolchain, whole bool) (out []string) {
	if whole {
		for i, p := range l.Patches {
			if i > 0 {
				out = append(out, "")
			}
			out = append(out, p.lines(t)...)
		}
		return out
	}
	out = append(out, fmt.Sprintf("%s, %s", t, t.Root), "")
	for _, p := range l.Patches {
		word := "fits"
		switch {
		case !*p.Fits:
			word = "does not fit"
		case p.Note != "":
			word = "fits, idle"
		}
		if p.Default {
			word += ", default"
		}
		out = append(out, fmt.Sprintf("  %s: %s", p.Name, word))
		out = append(out, wrapped(p.Summary, "    ")...)
		out = append(out, wrapped("measured: "+p.Evidence, "    ")...)
	}
	for i, p := range l.Patches {
		if i > 0 && p.Note == l.Patches[i-1].Note || p.Note == "" {
			continue
		}
		out = append(append(out, ""), wrapped(p.Note, "  ")...)
	}
	return append(out, "", "  folio patches NAME   why, what Go's developers say, what was measured")
}

func (p Listed) lines(t *Toolchain) []string {
	out := []string{fmt.Sprintf("%s (%s)", p.Name, p.Hash)}
	fits := "to the letter"
	if p.Note != "" {
		fits = p.Note
	}
	for _, row := range []struct{ what, text string }{
		{"does", p.Summary}, {"why", p.Why}, {"upstream", p.Upstream}, {"until", p.Remove}, {"measured", p.Evidence}, {"switch", p.Switch},
		{"written for", strings.Join(p.Go, ", ")}, {"fits " + t.String(), fits},
	} {
		if row.text != "" {
			out = append(append(out, "  "+row.what+":"), wrapped(row.text, "    ")...)
		}
	}
	return out
}

// FileLines say what was patched in a program.
func (l *Listing) FileLines(file string) []string {
	switch {
	case *l.Copy:
		out := []string{fmt.Sprintf("%s: a copy by folio patch (%s, %s): its heap asks for huge pages", file, l.Go, l.Arch)}
		for _, e := range l.Edits {
			out = append(out, fmt.Sprintf("  %#x (file offset %#x): %x -> %x", e.Address, e.Offset, e.Old, e.New))
		}
		return out
	case len(l.Patches) == 0:
		return []string{file + ": nothing was patched in it by folio"}
	}
	out := []string{fmt.Sprintf("%s: %s with", file, l.Go)}
	for _, p := range l.Patches {
		note := ""
		if mine, err := Lookup(p.Name); err != nil {
			note = ", which this folio does not know"
		} else if mine[0].Hash != p.Hash {
			note = ", another version than this folio's"
		}
		out = append(out, fmt.Sprintf("  %s@%s%s", p.Name, p.Hash, note))
	}
	return out
}

// wrapped is a text as indented lines.
func wrapped(text, indent string) []string { return console.Wrap(indent, indent, text, 78) }
