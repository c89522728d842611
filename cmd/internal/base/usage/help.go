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

// example breaks a command line that is too long between words, with backslashes.
func example(line string, width int) []string {
	const indent, end = "      ", " \\"
	var out []string
	for console.Width(line) > width {
		at := 0
		quote := rune(0)
		for i, r := range line {
			switch {
			case quote != 0:
				if r == quote {
					quote = 0
				}
			case r == '\'' || r == '"':
				quote = r
			case r == ' ' && strings.TrimSpace(line[:i]) != "" && !strings.HasSuffix(line[:i], " --") && console.Width(line[:i]+end) <= width:
				at = i
			}
		}
		if at == 0 {
			break // one word
		}
		out = append(out, line[:at]+end)
		line = indent + line[at+1:]
	}
	return append(out, line)
}

// entry is a line of a list: a name, and what it is.
var entry = regexp.MustCompile(`^ +\S+ {2,}(\S.*)$`)

// lists breaks the entries of lists that are too long, and examples so that they can be pasted.
// Usage lines stay.
func lists(text string, width int) string {
	var out []string
	section := ""
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			section = line
		}
		m := entry.FindStringSubmatchIndex(line)
		switch {
		case section == "Examples:":
			out = append(out, example(line, width)...)
		case section == "Usage:" || console.Width(line) <= width:
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
