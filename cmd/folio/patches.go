package main

import (
	"context"
	"encoding/json"
	"fmt"
	goversion "go/version"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/internal/base/console"
)

const patchesLong = `List the patches of Go's runtime that 'folio build' applies: what each does, and
whether it fits the Go of this directory. With names: all that is known of
these, why they are there, what Go's developers say, and when they will go.

A patch is an edit with anchors: it fits when each of them stands in the files of
that Go exactly as often as the patch says. A Go that is not installed is
downloaded by the go command (GOTOOLCHAIN).`

type patchesFlags struct {
	goVersion, of string
	json          bool
}

func newPatches(a *app) *cobra.Command {
	var f patchesFlags
	cmd := &cobra.Command{
		Use:   "patches [--goversion VERSION] [name...]",
		Short: "List the patches of Go's runtime, and whether they fit",
		Long:  patchesLong,
		Example: `  folio patches
  folio patches --goversion go1.25.5
  folio patches heap-hugepages
  folio patches --of ./server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.of != "" {
				if len(args) > 0 || f.goVersion != "" {
					return misusef("--of: takes a program alone")
				}
				return a.patchesOf(f)
			}
			return a.patches(cmd.Context(), f, args)
		},
	}
	cmd.Flags().StringVar(&f.goVersion, "goversion", "", "Go `version`, such as go1.25.5 (default that of this directory)")
	cmd.Flags().StringVar(&f.of, "of", "", "show what was patched in a program `file`")
	cmd.Flags().BoolVar(&f.json, "json", false, "write JSON")
	return cmd
}

func (a *app) writeJSON(doc any) error {
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(console.JSON(data), '\n'))
	return err
}

func (a *app) patches(ctx context.Context, f patchesFlags, names []string) error {
	list := overlay.Patches()
	if len(names) > 0 {
		var err error
		if list, err = overlay.Lookup(names...); err != nil {
			return misuse(err)
		}
	}
	env := os.Environ()
	if v := f.goVersion; v != "" {
		if !strings.HasPrefix(v, "go") {
			v = "go" + v
		}
		if !goversion.IsValid(v) || goversion.Compare(v, "go1") < 0 {
			return misusef("--goversion %s: not a version of Go: want such as go1.25.5", f.goVersion)
		}
		env = append(env, "GOTOOLCHAIN="+v)
	}
	t, err := overlay.FindToolchain(ctx, "", "", env)
	if err != nil {
		return fmt.Errorf("patches: %w", err)
	}
	doc, err := overlay.List(list, t)
	if err != nil {
		return fmt.Errorf("patches: %w", err)
	}
	switch {
	case f.json:
		return a.writeJSON(doc)
	case len(names) > 0:
		for i, p := range doc.Patches {
			if i > 0 {
				_ = a.stdout.Line("")
			}
			a.describe(p, t)
		}
		return nil
	}
	_ = a.stdout.Line("%s, %s", t, t.Root)
	_ = a.stdout.Line("")
	for _, p := range doc.Patches {
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
		_ = a.stdout.Line("  %s: %s", p.Name, word)
		a.wrapped(p.Summary, "    ")
		a.wrapped("measured: "+p.Evidence, "    ")
	}
	for i, p := range doc.Patches {
		if i > 0 && p.Note == doc.Patches[i-1].Note || p.Note == "" {
			continue
		}
		_ = a.stdout.Line("")
		a.wrapped(p.Note, "  ")
	}
	_ = a.stdout.Line("")
	return a.stdout.Line("  folio patches NAME   why, what Go's developers say, what was measured")
}

func (a *app) describe(p overlay.Listed, t *overlay.Toolchain) {
	_ = a.stdout.Line("%s (%s)", p.Name, p.Hash)
	fits := "to the letter"
	if p.Note != "" {
		fits = p.Note
	}
	for _, row := range []struct{ what, text string }{
		{"does", p.Summary}, {"why", p.Why}, {"upstream", p.Upstream}, {"until", p.Remove}, {"measured", p.Evidence}, {"switch", p.Switch},
		{"written for", strings.Join(p.Go, ", ")}, {"fits " + t.String(), fits},
	} {
		if row.text != "" {
			_ = a.stdout.Line("  %s:", row.what)
			a.wrapped(row.text, "    ")
		}
	}
}

// wrapped prints a text as indented lines.
func (a *app) wrapped(text, indent string) {
	for _, l := range console.Wrap(indent, indent, text, 78) {
		_ = a.stdout.Line("%s", l)
	}
}

// patchesOf says what was patched in a program.
func (a *app) patchesOf(f patchesFlags) error {
	doc, err := overlay.ListFile(f.of)
	if err != nil {
		return fmt.Errorf("--of: %w", err)
	}
	switch {
	case f.json:
		return a.writeJSON(doc)
	case *doc.Copy:
		_ = a.stdout.Line("%s: a copy by folio patch (%s, %s): its heap asks for huge pages", f.of, doc.Go, doc.Arch)
		for _, e := range doc.Edits {
			_ = a.stdout.Line("  %#x (file offset %#x): %x -> %x", e.Address, e.Offset, e.Old, e.New)
		}
		return nil
	case len(doc.Patches) == 0:
		return a.stdout.Line("%s: nothing was patched in it by folio", f.of)
	}
	_ = a.stdout.Line("%s: %s with", f.of, doc.Go)
	for _, p := range doc.Patches {
		note := ""
		if mine, err := overlay.Lookup(p.Name); err != nil {
			note = ", which this folio does not know"
		} else if mine[0].Hash != p.Hash {
			note = ", another version than this folio's"
		}
		_ = a.stdout.Line("  %s@%s%s", p.Name, p.Hash, note)
	}
	return nil
}
