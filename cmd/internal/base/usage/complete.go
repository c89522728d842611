package usage

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// values are what shells offer for flags by name; of each those that its text names.
var values = map[string][]string{
	"thp":           {"system", "heap", "off", "collapse"},
	"metric":        {"wall", "cpu", "ns/op", "p50", "p99", "p999", "cpu/request"},
	"arrivals":      {"constant", "poisson"},
	"load-arrivals": {"constant", "poisson"},
	"http":          {"1", "2"},
	"load-http":     {"1", "2"},
}

// CompleteArgs completes the arguments of a command with names of a closed list, those that are
// not given yet. A name may be followed by a tab and a description.
func CompleteArgs(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return without(names(), args), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeList completes the value of a flag that is a list of names with commas.
func completeList(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		before := word[:strings.LastIndex(word, ",")+1]
		left := without(names(), strings.Split(before, ","))
		for i := range left {
			left[i] = before + left[i]
		}
		return left, cobra.ShellCompDirectiveNoFileComp
	}
}

func without(names, given []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		name, _, _ := strings.Cut(n, "\t")
		return slices.Contains(given, name)
	})
}

// unparsed completes the arguments of a command that parses no flags: the value after a flag
// with a list of names, else files.
func unparsed(lists map[string]func() []string) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			flag := args[len(args)-1]
			name := strings.TrimLeft(flag, "-")
			if names := lists[name]; names != nil && name != flag && c.Flags().Lookup(name) != nil {
				return completeList(names)(c, args, word)
			}
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// Complete prepares a command, with all of its commands, for what a shell asks when it completes
// a command line, args: values of flags, processes where a command takes one, and texts of flags
// without the marks of placeholders. processes are their ids with a tab and a description. lists
// are the names, with descriptions, that flags by these names take as lists with commas.
func Complete(root *cobra.Command, args []string, processes func() []string, lists map[string]func() []string) {
	if len(args) == 0 || !strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return // not for a shell
	}
	pids := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return processes(), cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range visible(root) {
		if words := strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(strings.ToLower(c.Use))); slices.Contains(words, "pid") {
			c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return pids(c, args, word)
			}
		}
		if c.DisableFlagParsing {
			c.ValidArgsFunction = unparsed(lists)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			var err error
			switch {
			case f.Name == "attach":
				err = c.RegisterFlagCompletionFunc(f.Name, pids)
			case lists[f.Name] != nil:
				err = c.RegisterFlagCompletionFunc(f.Name, completeList(lists[f.Name]))
			case values[f.Name] != nil && f.Value.Type() == "string":
				of := slices.DeleteFunc(slices.Clone(values[f.Name]), func(v string) bool { return !strings.Contains(f.Usage, v) })
				err = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp))
			}
			if err != nil {
				panic(err) // it is registered twice
			}
			f.Usage = strings.Join(strings.Fields(strings.ReplaceAll(f.Usage, "`", "")), " ")
		})
	}
}
