package usage

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/base/unit"
)

// group is the annotation of flags with the title under which help lists them.
const group = "group"

// Group has help list the flags that have no group yet under a title.
func Group(fs *pflag.FlagSet, title string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if len(f.Annotations[group]) == 0 {
			_ = fs.SetAnnotation(f.Name, group, []string{title}) // it is one of them
		}
	})
}

// advanced is the annotation of flags that --help leaves out, and of commands whose --help-all
// was given. Man pages and --help-all have these flags.
const (
	advanced = "advanced"
	helpAll  = "help-all"
)

// Advanced has help leave out flags that few need.
func Advanced(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, advanced, []string{}); err != nil {
			panic(err) // no such flag
		}
	}
}

func isAdvanced(f *pflag.Flag) bool { _, is := f.Annotations[advanced]; return is }

// An allHelp is the value of --help-all, which asks for the help of a command with all flags.
type allHelp struct{ all *bool }

func (v allHelp) Set(text string) (err error) {
	if *v.all, err = strconv.ParseBool(text); *v.all {
		return pflag.ErrHelp
	}
	return err
}
func (v allHelp) String() string { return "" }
func (v allHelp) Type() string   { return "bool" }

// addHelpAll adds --help-all to a command with flags that --help leaves out.
func addHelpAll(cmd *cobra.Command) {
	some := false
	cmd.Flags().VisitAll(func(f *pflag.Flag) { some = some || isAdvanced(f) })
	if !some {
		return
	}
	cmd.InitDefaultHelpFlag()
	f := cmd.Flags().VarPF(allHelp{new(bool)}, helpAll, "", "help with all flags")
	f.NoOptDefVal = "true"
}

// A CommandGroup is commands that help lists together.
type CommandGroup struct {
	Title    string
	Commands []*cobra.Command
}

// AddCommands adds commands in groups, in this order, before [Strict]. Cobra's own go to the
// last one.
func AddCommands(root *cobra.Command, groups ...CommandGroup) {
	cobra.EnableCommandSorting = false
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title + ":"})
		for _, c := range g.Commands {
			c.GroupID = g.Title
			root.AddCommand(c)
		}
		root.SetCompletionCommandGroupID(g.Title)
	}
}

// flagsInGroups is the part of help that lists the flags of a command.
func flagsInGroups(c *cobra.Command) string {
	var titles []string
	of := make(map[string]*pflag.FlagSet)
	all, left := false, 0
	if f := c.Flags().Lookup(helpAll); f != nil {
		all = *f.Value.(allHelp).all
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if isAdvanced(f) && !all {
			left++
			return
		}
		title := "Flags"
		if all := f.Annotations[group]; len(all) > 0 {
			title = all[0]
		}
		if of[title] == nil {
			titles = append(titles, title)
			of[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			of[title].SortFlags = false
		}
		flag := *f
		flag.Usage = strings.Join(strings.Fields(f.Usage), " ")
		of[title].AddFlag(&flag)
	})
	var b strings.Builder
	for _, t := range titles {
		if text := strings.TrimRight(of[t].FlagUsagesWrapped(columnsOf(c)+1), " \n"); text != "" {
			b.WriteString("\n\n" + t + ":\n" + text)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n\n%s: %s --help-all", unit.Plural(left, "more flag"), c.CommandPath())
	}
	return strings.TrimPrefix(b.String(), "\n\n")
}

// grouped has a command and its own list flags in groups.
func grouped(root *cobra.Command) {
	const all = "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
	cobra.AddTemplateFunc("flagsInGroups", flagsInGroups)
	const runnable = "{{if .Runnable}}" // a root command without arguments only prints help
	root.SetUsageTemplate(strings.NewReplacer(all, "{{flagsInGroups .}}", runnable, "{{if and .Runnable .HasParent}}").Replace(root.UsageTemplate()))
	root.SetHelpFunc(printHelp)
}
