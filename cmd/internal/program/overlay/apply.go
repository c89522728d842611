package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// A RefusedError says why a patch is not applied. Nothing was built.
type RefusedError struct {
	Patch   string
	Version string // of Go
	File    string // of the standard library; "" where no file is at fault
	Why     string
}

func (e *RefusedError) Error() string {
	where := e.Version
	if e.File != "" {
		where += ", " + e.File
	}
	return fmt.Sprintf("patch %s does not fit %s: %s", e.Patch, where, e.Why)
}

// Fits returns nil if the patch can be applied to the toolchain as it is, without
// writing anything, and a [*RefusedError] otherwise.
func (p *Patch) Fits(t *Toolchain) error {
	_, err := render(t, []*Patch{p}, t.read)
	return err
}

// Idle says why a patch changes nothing in the programs that a toolchain builds; "" if
// it does.
func (p *Patch) Idle(t *Toolchain) string {
	if len(p.Effect) == 0 || slices.Contains(p.Effect, t.OS) || slices.Contains(p.Effect, t.Arch) ||
		slices.Contains(p.Effect, t.OS+"/"+t.Arch) {
		return ""
	}
	return fmt.Sprintf("changes nothing on %s/%s, only on %s", t.OS, t.Arch, strings.Join(p.Effect, ", "))
}

// suits returns why the patch is not for this toolchain at all.
func (p *Patch) suits(t *Toolchain) error {
	refuse := func(why string) error {
		return &RefusedError{Patch: p.Name, Version: t.Version, Why: why}
	}
	switch lang := t.lang(); {
	case !slices.Contains(p.Go, lang):
		return refuse(fmt.Sprintf("it is written for %s: choose one of these (GOTOOLCHAIN=%s.0), or build without the patch",
			unit.Enumerate(p.Go), p.Go[len(p.Go)-1]))
	case p.Experiment != "" && !t.experimental(p.Experiment):
		return refuse(fmt.Sprintf("it needs GOEXPERIMENT=%s: set it in the environment", p.Experiment))
	}
	return nil
}

// A change is what one edit does to one place of a file.
type change struct {
	from, to int // of the file as it was; equal: text is put in
	text     string
	patch    *Patch
}

// render returns the patched and the new files by their names below GOROOT. Read
// returns a file as it is without patches.
func render(t *Toolchain, patches []*Patch, read func(file string) ([]byte, error)) (map[string]string, error) {
	lang := t.lang()
	old := make(map[string]string)
	changes := make(map[string][]change)
	out := make(map[string]string)
	for _, p := range patches {
		if err := p.suits(t); err != nil {
			return nil, err
		}
		refuse := func(file, why string) error {
			return &RefusedError{Patch: p.Name, Version: t.Version, File: file, Why: why}
		}
		for _, e := range p.edits {
			if !e.fits(lang) {
				continue
			}
			text, known := old[e.file]
			if !known {
				data, err := read(e.file)
				if errors.Is(err, fs.ErrNotExist) {
					return nil, refuse(e.file, "there is no such file")
				} else if err != nil {
					return nil, fmt.Errorf("patch %s: %w", p.Name, err)
				}
				text = string(data)
				old[e.file] = text
			}
			places := findLines(text, e.find)
			if len(places) != e.count {
				return nil, refuse(e.file, fmt.Sprintf("the text %q stands there %d times, want %d", strings.TrimSpace(e.find), len(places), e.count))
			}
			for _, at := range places {
				c := change{from: at, to: at + len(e.find), text: e.text, patch: p}
				switch e.how {
				case before:
					c.to = c.from
				case after:
					c.from = c.to
				}
				changes[e.file] = append(changes[e.file], c)
			}
		}
		for _, f := range p.files {
			if !f.fits(lang) {
				continue
			}
			switch _, err := read(f.file); {
			case err == nil || out[f.file] != "":
				return nil, refuse(f.file, "there is such a file already")
			case !errors.Is(err, fs.ErrNotExist):
				return nil, fmt.Errorf("patch %s: %w", p.Name, err)
			}
			out[f.file] = f.text
		}
	}
	for file, list := range changes {
		text, err := rewrite(t, file, old[file], list)
		if err != nil {
			return nil, err
		}
		out[file] = text
	}
	return out, nil
}

// findLines returns where lines stand in a text. They are whole lines: what stands
// before and after them ends in a line's end.
func findLines(text, lines string) []int {
	var out []int
	for at := 0; ; {
		i := strings.Index(text[at:], lines)
		if i < 0 {
			return out
		}
		if at += i; at == 0 || text[at-1] == '\n' {
			out = append(out, at)
			at += len(lines)
		} else {
			at++
		}
	}
}

// rewrite carries the changes of a file out. Two patches that would change the same
// lines are refused: neither was written with the other in mind.
func rewrite(t *Toolchain, file, text string, list []change) (string, error) {
	slices.SortStableFunc(list, func(a, b change) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for i, c := range list {
		if c.from < at {
			return "", &RefusedError{Patch: c.patch.Name, Version: t.Version, File: file,
				Why: fmt.Sprintf("it changes the same lines as %s: choose one of the two", list[i-1].patch.Name)}
		}
		b.WriteString(text[at:c.from])
		b.WriteString(c.text)
		at = c.to
	}
	b.WriteString(text[at:])
	return b.String(), nil
}
