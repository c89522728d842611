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

// Complete prepares a command, with all of its commands, for what a shell asks when it completes
// a command line, args: values of flags, processes where a command takes one, and texts of flags
// without the marks of placeholders. processes are their ids with a tab and a description.
func Complete(root *cobra.Command, args []string, processes func() []string) {
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
		c.Flags().VisitAll(func(f *pflag.Flag) {
			var err error
			switch {
			case f.Name == "attach":
				err = c.RegisterFlagCompletionFunc(f.Name, pids)
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
