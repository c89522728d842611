package usage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ManPages makes a man page of a command and of each of its own, as texts by the names of their
// files.
func ManPages(root *cobra.Command) map[string]string {
	files := make(map[string]string)
	for _, c := range visible(root) {
		files[manName(c)+".1"] = manPage(c)
	}
	return files
}

// visible returns the commands that users see, each before its own.
func visible(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		if listed(c) {
			out = append(out, visible(c)...)
		}
	}
	return out
}

func listed(c *cobra.Command) bool { return c.IsAvailableCommand() && c.Name() != "completion" }

// eachFlag calls f with the flags of a command, the names of their values and their texts.
func eachFlag(c *cobra.Command, f func(_ *pflag.Flag, value, text string)) {
	c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if value, text := pflag.UnquoteUsage(flag); !flag.Hidden {
			f(flag, value, strings.Join(strings.Fields(text), " "))
		}
	})
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
	return f.DefValue
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is a page in roff for man(1), with the texts of --help.
func manPage(c *cobra.Command) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH "%s" 1 "" "folio %s" "Folio"`, strings.ToUpper(manName(c)), roff(c.Root().Version))
	line(".SH NAME\n%s \\- %s", roff(manName(c)), roff(c.Short))
	line(".SH SYNOPSIS\n.nf\n%s\n.fi", roff(c.UseLine()))
	if text := strings.TrimSpace(c.Long); text != "" {
		line(".SH DESCRIPTION\n.nf\n%s\n.fi", roff(text))
	}
	line(".SH OPTIONS") // each has --help
	eachFlag(c, func(f *pflag.Flag, value, text string) {
		if d := defaultOf(f); d != "" {
			text += " (default " + d + ")"
		}
		line(".TP\n\\fB%s\\fR %s\n%s", roff(flagName(f)), roff(value), roff(text))
	})
	if c.Example != "" {
		line(".SH EXAMPLES\n.nf\n%s\n.fi", roff(strings.Trim(c.Example, "\n")))
	}
	var also []string
	if c.HasParent() {
		also = append(also, manName(c.Parent())+"(1)")
	}
	for _, sub := range c.Commands() {
		if listed(sub) {
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
	return strings.TrimPrefix(strings.NewReplacer("\n.", "\n\\&.", "\n'", "\n\\&'").Replace("\n"+text), "\n")
}
