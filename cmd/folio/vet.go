package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/foliomem/folio/arenavet"
	"github.com/foliomem/folio/cmd/internal/program/build"
)

// vetTool is folio as the tool of go vet, which calls it for each package: with
// -V=full, with -flags, or with a configuration. It returns if it is not called so.
func vetTool(args []string) {
	if len(args) == 1 && (args[0] == "-V=full" || args[0] == "-flags") ||
		len(args) > 0 && strings.HasSuffix(args[len(args)-1], ".cfg") && onlyFlags(args[:len(args)-1]) {
		unitchecker.Main(arenavet.Analyzers()...)
	}
}

func onlyFlags(args []string) bool {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return false
		}
	}
	return true
}

func vetLong() string {
	var b strings.Builder
	b.WriteString(`Find mistakes with arenas before they run: uses of memory after Free, arenas
that are not freed or freed twice, memory that outlives its arena, and so on.
It checks code that uses Folio's package arena, Go's experimental one, package
page and package gctune. Other packages are skipped. What each analyzer finds,
and what it does not see:
https://github.com/foliomem/folio/blob/main/docs/arenavet.md

It runs go vet with folio as its tool, so it takes the packages and flags of go vet, and
results are cached. -NAME runs one analyzer only, -NAME=false
disables it.

Exit codes: 0 nothing found; 1 something found, or a package does not build.

Analyzers:
`)
	for _, a := range arenavet.Analyzers() {
		summary, _, _ := strings.Cut(a.Doc, "\n")
		fmt.Fprintf(&b, "  %-16s %s\n", a.Name, strings.TrimPrefix(summary, "check for "))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func newVet(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vet [go vet flags] [packages]",
		Short: "Find mistakes with arenas before they run",
		Long:  vetLong(),
		Example: `  folio vet ./...
  folio vet -arenause -c=2 ./...
  folio vet -fix ./...
  go vet -vettool=$(which folio) ./...`,
		DisableFlagParsing:    true, // they are go vet's; help lists the most used
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg == "-h" || arg == "-help" || arg == "--help" {
					return cmd.Help()
				}
			}
			return a.vet(cmd.Context(), args)
		},
	}
	cmd.Flags().Bool("fix", false, "apply the suggested fixes")
	cmd.Flags().IntP("c", "c", 0, "print `n` lines of context around each finding")
	cmd.Flags().Bool("json", false, "print the findings as JSON")
	cmd.Flags().String("tags", "", "build `tags`, with commas")
	return cmd
}

func (a *app) vet(ctx context.Context, args []string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("vet: find the folio command: %w", err)
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("vet: %w: install Go, or put it into PATH", err)
	}
	signals, unheard := heard()
	defer unheard()
	var w workplace
	defer func() { err = errors.Join(err, w.remove()) }()
	temp, err := w.make(os.Getenv("GOTMPDIR"))
	if err != nil {
		return fmt.Errorf("vet: %w", err)
	}
	cmd := exec.CommandContext(ctx, goTool, append([]string{"vet", "-vettool=" + self}, args...)...)
	cmd.Env = append(os.Environ(), "GOTMPDIR="+temp)
	said := &vetWriter{w: a.stderr, self: self}
	cmd.Stdout, cmd.Stderr = a.stdout, said
	told, err := build.RunTold(cmd, signals)
	err = errors.Join(err, said.flush())
	if told > 0 {
		return exitCode(exitInterrupted)
	}
	return ended("go vet", err) // it has said why
}

// A vetWriter passes on what go vet says, less its advice to run its tool for help: folio's
// help lists no flags of go vet, that of folio vet the analyzers and the most used flags.
type vetWriter struct {
	w    io.Writer
	self string // the tool
	line []byte // begun
}

func (v *vetWriter) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		v.line = append(v.line, part...)
		if part[len(part)-1] == '\n' {
			if err := v.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(p), nil
}

func (v *vetWriter) flush() error {
	text := string(v.line)
	v.line = v.line[:0]
	switch {
	case strings.HasPrefix(text, "Run '"+v.self+" help'"):
		text = "Run 'folio vet --help' for the analyzers, and -NAME to run one.\n"
	case strings.HasPrefix(text, "Run '"+v.self+" -help'"):
		return nil
	}
	_, err := io.WriteString(v.w, text)
	return err
}
