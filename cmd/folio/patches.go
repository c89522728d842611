package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/program/toolchain"
	"github.com/foliomem/folio/internal/base/console"
)

const patchesLong = `List the patches of Go's runtime that 'folio build' applies: what each does, and
whether it fits the Go of this directory. With names: purpose, upstream discussion,
and when each patch becomes obsolete.

A patch is an edit with anchors: it fits if each anchor occurs in the source of
that Go exactly as often as the patch expects. A Go that is not installed is
downloaded by the go command (GOTOOLCHAIN).`

type patchesFlags struct {
	goVersion, of string
	json          bool
}

func newPatches(a *app) *cobra.Command {
	var f patchesFlags
	cmd := &cobra.Command{
		Use:   "patches [flags] [name...]",
		Short: "List the patches of Go's runtime, and whether they fit",
		Long:  patchesLong,
		Example: `  folio patches
  folio patches --go go1.25.5
  folio patches heap-hugepages
  folio patches --of ./server`,
		ValidArgsFunction: usage.CompleteArgs(overlay.Completions),
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
	cmd.Flags().StringVar(&f.goVersion, "go", "", "Go `version`, such as go1.25.5 (default that of this directory)")
	cmd.Flags().StringVar(&f.of, "of", "", "show what was patched in a program `file`")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON to standard output")
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
		v, err := toolchain.Parse(v)
		if err != nil {
			return misusef("--go: %w", err)
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
	if f.json {
		return a.writeJSON(doc)
	}
	return a.lines(doc.Lines(t, len(names) > 0))
}

func (a *app) lines(lines []string) (err error) {
	for _, l := range lines {
		err = a.stdout.Line("%s", l)
	}
	return err
}

// patchesOf says what was patched in a program.
func (a *app) patchesOf(f patchesFlags) error {
	doc, err := overlay.ListFile(f.of)
	if err != nil {
		return fmt.Errorf("--of %w", err)
	}
	if f.json {
		return a.writeJSON(doc)
	}
	return a.lines(doc.FileLines(f.of))
}
