package usage

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		title := "Flags"
		if all := f.Annotations[group]; len(all) > 0 {
			title = all[0]
		}
		if of[title] == nil {
			titles = append(titles, title)
			of[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			of[title].SortFlags = false
		}
		of[title].AddFlag(f)
	})
	var b strings.Builder
	for _, t := range titles {
		if text := strings.TrimRight(of[t].FlagUsages(), " \n"); text != "" {
			b.WriteString("\n\n" + t + ":\n" + text)
		}
	}
	return strings.TrimPrefix(b.String(), "\n\n")
}

// grouped has a command and its own list flags in groups.
func grouped(root *cobra.Command) {
	const all = "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
	cobra.AddTemplateFunc("flagsInGroups", flagsInGroups)
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), all, "{{flagsInGroups .}}", 1))
}
