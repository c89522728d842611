package usage

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/internal/base/console"
)

// Help is as wide as the terminal: prose, lists, flags and examples are broken.
func TestHelpWidth(t *testing.T) {
	example := "  prog one " + strings.Repeat("--long ", 20) + "--quoted 'a b'"
	one := &cobra.Command{
		Use: "one", Short: strings.Repeat("does this and that ", 8), Example: example, Run: func(*cobra.Command, []string) {},
		Long: "Words that were broken\nelsewhere " + strings.Repeat("word ", 30) + "\n\n  a table   " + strings.Repeat("x", 80) + "\nand so on.",
	}
	one.Flags().String("file", "", "write to `file` "+strings.Repeat("words ", 40))
	root := &cobra.Command{Use: "prog", Long: "Prog.", RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	AddCommands(root, CommandGroup{"All", []*cobra.Command{one}})
	Strict(root)
	for _, width := range []int{50, 80, widest} {
		for _, c := range []*cobra.Command{root, one} {
			text := help(c, width)
			for l := range strings.Lines(text) {
				l = strings.TrimSuffix(l, "\n")
				if console.Width(l) > width && !strings.HasPrefix(l, "  a table") {
					t.Errorf("width %d: %d columns: %s", width, console.Width(l), l)
				}
			}
			if c == one && (!strings.Contains(strings.ReplaceAll(text, " \\\n      ", " "), example) || !strings.HasPrefix(text, "Words that were broken elsewhere word")) {
				t.Errorf("width %d: %s", width, text)
			}
		}
	}
	if text := help(root, 80); strings.Contains(text, "prog [flags]") || !strings.Contains(text, "Usage:\n  prog [command]\n") {
		t.Errorf("%s", text)
	}
}

// Examples are broken outside of quotes only.
func TestExampleWidth(t *testing.T) {
	for line, want := range map[string]string{
		"  prog a b":                    "  prog a b",
		"  prog --name 'a b c d e f' x": "  prog --name \\\n      'a b c d e f' x",
		"  'a b c d e f g h i j k l m'": "  'a b c d e f g h i j k l m'",
		"  prog aaaaaaaaa bbbbbbbbb cc": "  prog aaaaaaaaa \\\n      bbbbbbbbb cc",
	} {
		if got := strings.Join(example(line, 22), "\n"); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// Shells get values, processes and plain texts.
func TestComplete(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"look", ""}, []string{"12\tapi"}},
		{[]string{"look", "12", ""}, nil},
		{[]string{"look", "--attach", ""}, []string{"12\tapi"}},
		{[]string{"look", "--thp", ""}, []string{"system", "heap"}},
		{[]string{"look", "--m"}, []string{"--markdown\twrite to file as Markdown"}},
		{[]string{"look", "--skip", ""}, []string{"swap\tSwap is used", "limit"}},
		{[]string{"look", "--skip", "swap,"}, []string{"swap,limit"}},
		{[]string{"name", "swap", ""}, []string{"limit"}},
		{[]string{"wrap", "--skip", "limit,"}, []string{"limit,swap\tSwap is used"}},
		{[]string{"wrap", "skip", ""}, nil},
		{[]string{"help", ""}, []string{"look\tLooks", "name\tNames", "wrap\tWraps", "completion\tGenerate the autocompletion script for the specified shell"}},
		{[]string{"help", "look", ""}, nil},
	} {
		look := &cobra.Command{Use: "look [flags] [pid | other]", Short: "Looks", Run: run}
		look.Flags().String("thp", "", "`mode`: heap has huge pages, system changes nothing")
		look.Flags().Int("attach", 0, "")
		look.Flags().StringSlice("skip", nil, "")
		names := func() []string { return []string{"swap\tSwap is used", "limit"} }
		name := &cobra.Command{Use: "name [name...]", Short: "Names", Run: run, ValidArgsFunction: CompleteArgs(names)}
		wrap := &cobra.Command{Use: "wrap", Short: "Wraps", Run: run, DisableFlagParsing: true}
		wrap.Flags().StringSlice("skip", nil, "")
		look.Flags().String("markdown", "", "write to `file`\nas Markdown")
		root := &cobra.Command{Use: "prog", Run: run}
		AddCommands(root, CommandGroup{"All", []*cobra.Command{look, name, wrap}})
		Strict(root)
		args := append([]string{cobra.ShellCompRequestCmd}, c.args...)
		Complete(root, args, func() []string { return []string{"12\tapi"} }, map[string]func() []string{"skip": names})
		var out strings.Builder
		root.SetOut(&out)
		root.SetErr(new(strings.Builder))
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSpace(out.String()), "\n")
		got = got[:len(got)-1] // the directive
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
