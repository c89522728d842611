package usage

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/internal/base/console"
)

// widest is how many columns the lines of help have at most, as in other outputs: longer ones
// are hard to read. A narrower terminal has less.
const widest = 96

// columns is the annotation of the root command with how wide the help is that it prints.
const columns = "columns"

// printHelp prints the help of a command as wide as its output has room for.
func printHelp(c *cobra.Command, _ []string) {
	width := widest
	if n := terminal.Columns(c.OutOrStdout()); n > 0 {
		width = min(n, widest)
	}
	_, _ = fmt.Fprint(c.OutOrStdout(), help(c, width)) // the printer keeps its error
}

func help(c *cobra.Command, width int) string {
	root := c.Root()
	if root.Annotations == nil {
		root.Annotations = make(map[string]string)
	}
	root.Annotations[columns] = strconv.Itoa(width)
	return reflow(cmp.Or(c.Long, c.Short), width) + "\n\n" + lists(c.UsageString(), width)
}

func columnsOf(c *cobra.Command) int {
	n, err := strconv.Atoi(c.Root().Annotations[columns])
	if err != nil {
		return widest
	}
	return n
}

// reflow breaks the paragraphs of a text anew. Lines that are indented stay: they are examples,
// or tables.
func reflow(text string, width int) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, console.Wrap("", "", strings.Join(paragraph, " "), width)...)
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line == "" || line[0] == ' ' {
			end()
			out = append(out, line)
			continue
		}
		paragraph = append(paragraph, line)
	}
	end()
	return strings.Join(out, "\n")
}

// entry is a line of a list: a name, and what it is.
var entry = regexp.MustCompile(`^ +\S+ {2,}(\S.*)$`)

// lists breaks the entries of lists that are too long. What is to be pasted stays.
func lists(text string, width int) string {
	var out []string
	paste := false
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paste = strings.HasPrefix(line, "Usage:") || strings.HasPrefix(line, "Examples:")
		}
		m := entry.FindStringSubmatchIndex(line)
		switch {
		case paste || console.Width(line) <= width:
			out = append(out, line)
		case m != nil:
			out = append(out, console.Wrap(line[:m[2]], strings.Repeat(" ", m[2]), line[m[2]:], width)...)
		case line[0] != ' ':
			out = append(out, console.Wrap("", "", line, width)...)
		default:
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}
