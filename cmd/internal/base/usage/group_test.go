package usage

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Help lists commands and flags in groups, in the order in which they were added, each once.
func TestGroups(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	one, two := &cobra.Command{Use: "one", Short: "First", Run: run}, &cobra.Command{Use: "another", Short: "Second", Run: run}
	one.Flags().Bool("zero", false, "comes first")
	one.Flags().Bool("also", false, "is beside it")
	Group(one.Flags(), "Beginnings")
	one.Flags().Bool("late", false, "comes last")
	Group(one.Flags(), "Ends")
	one.Flags().Bool("later", false, "is of the first again")
	Group(one.Flags(), "Beginnings")
	one.Flags().Bool("alone", false, "has no group")
	one.Flags().Bool("rare", false, "few need it, "+strings.Repeat("and its text is long ", 20))
	Advanced(one.Flags(), "rare")
	root := &cobra.Command{Use: "prog"}
	AddCommands(root, CommandGroup{"Every day", []*cobra.Command{one}}, CommandGroup{"At times", []*cobra.Command{two}})
	Strict(root)
	for _, tt := range []struct {
		args []string
		want []string // in this order
	}{
		{[]string{"--help"}, []string{"Every day:", "one", "First", "At times:", "another", "Second", "completion", "help  ", "Flags:"}},
		{[]string{"one", "-h"}, []string{"Beginnings:", "--zero", "--also", "--later", "Ends:", "--late ", "Flags:", "--alone", "1 more flag: prog one --help-all"}},
		{[]string{"one", "--help-all"}, []string{"Beginnings:", "--zero", "Flags:", "--alone", "--rare"}},
	} {
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(tt.args)
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		rest := out.String()
		for l := range strings.Lines(rest) {
			if len(l) > widest+1 {
				t.Errorf("%q: %d columns: %s", tt.args, len(l), l)
			}
		}
		if strings.Contains(rest, "--rare") != (tt.args[len(tt.args)-1] == "--help-all") {
			t.Errorf("%q: flags that few need: %s", tt.args, rest)
		}
		for _, want := range tt.want {
			if strings.Count(out.String(), want) != 1 && strings.HasPrefix(want, "--") {
				t.Errorf("%q: got %d times %q, want once, in\n%s", tt.args, strings.Count(out.String(), want), want, &out)
			}
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Fatalf("%q: no %q after the others in\n%s", tt.args, want, &out)
			}
			rest = after
		}
		if strings.Contains(out.String(), "Additional Commands") {
			t.Errorf("%q: got commands without a group in\n%s", tt.args, &out)
		}
	}
}
