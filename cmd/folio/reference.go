package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newReference returns the command that writes what packagers and the documentation
// need: it is not for users.
func newReference(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "reference directory",
		Short:   "Write commands.md and man pages, made from the help texts",
		Example: "  folio reference /tmp",
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misusef("reference: want one directory")
			}
			root := cmd.Root()
			files := map[string]string{"commands.md": reference(root)}
			for _, c := range visible(root) {
				files[manName(c)+".1"] = manPage(c)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// visible returns the commands that users see, each before its own.
func visible(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" {
			out = append(out, visible(c)...)
		}
	}
	return out
}

// reference is docs/commands.md.
func reference(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\nMade from the help texts by `folio reference`; a test keeps it up to date.\n")
	for _, c := range visible(root) {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```\n%s\n```\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."), c.UseLine())
		if text := strings.TrimSpace(c.Long); text != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", text)
		}
		if text := strings.Trim(c.Example, "\n"); text != "" {
			fmt.Fprintf(&b, "\nExamples:\n\n```\n%s\n```\n", outdent(text))
		}
		var rows strings.Builder
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			placeholder, usage := pflag.UnquoteUsage(f)
			fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", strings.TrimSpace(flagName(f)+" "+placeholder), cell(usage), cell(defaultOf(f)))
		})
		if rows.Len() > 0 {
			fmt.Fprintf(&b, "\n| flag | what | default |\n|---|---|---|\n%s", rows.String())
		}
	}
	return b.String()
}

func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + ", --" + f.Name
	}
	return "--" + f.Name
}

// defaultOf is a flag's default, "" where it is the zero of its type.
func defaultOf(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "0", "false", "[]", "0s":
		return ""
	}
	return "`" + f.DefValue + "`"
}

// cell keeps a text within one cell of a Markdown table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

func outdent(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is a page in roff for man(1), with the texts of --help.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH "%s" 1 "" "folio %s" "Folio"`, strings.ToUpper(manName(c)), roff(version()))
	line(".SH NAME\n%s \\- %s", roff(manName(c)), roff(c.Short))
	line(".SH SYNOPSIS\n.nf\n%s\n.fi", roff(c.UseLine()))
	if text := strings.TrimSpace(c.Long); text != "" {
		line(".SH DESCRIPTION\n.nf\n%s\n.fi", roff(text))
	}
	options := false
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if !options {
			options = true
			line(".SH OPTIONS")
		}
		placeholder, usage := pflag.UnquoteUsage(f)
		text := strings.Join(strings.Fields(usage), " ")
		if d := defaultOf(f); d != "" {
			text += " (default " + strings.Trim(d, "`") + ")"
		}
		line(".TP\n\\fB%s\\fR %s\n%s", roff(flagName(f)), roff(placeholder), roff(text))
	})
	if c.Example != "" {
		line(".SH EXAMPLES\n.nf\n%s\n.fi", roff(strings.Trim(c.Example, "\n")))
	}
	var also []string
	if c.HasParent() {
		also = append(also, manName(c.Parent())+"(1)")
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" {
			also = append(also, manName(sub)+"(1)")
		}
	}
	if len(also) > 0 {
		line(".SH SEE ALSO\n%s", roff(strings.Join(also, ", ")))
	}
	return b.String()
}

// roff escapes a text for man pages: backslashes, hyphens, and dots that begin a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
