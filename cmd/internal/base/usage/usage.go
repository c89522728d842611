// Package usage refuses wrong command lines, for all commands of Folio in the same words:
// one line that says what is wrong, where, and how to write it instead.
package usage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/spelling"
)

// An Error is a mistake in the command line.
type Error struct{ Err error }

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Strict makes a command, with all of its commands, refuse wrong flags and unknown
// commands. What an annotation of a command by the name of an unknown flag, such as --gogc,
// says is said of that flag. It is called once, when all flags and commands have been added.
func Strict(root *cobra.Command) {
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(flagError)
	strict(root)
	grouped(root)
	// Cobra's own commands answer an unknown word with their help and exit code 0.
	root.InitDefaultCompletionCmd("completion")
	root.SetHelpCommand(newHelp(root))
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args = onlyShells
			cmd.SuggestionsMinimumDistance = root.SuggestionsMinimumDistance
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

func newHelp(root *cobra.Command) *cobra.Command {
	group := ""
	if all := root.Groups(); len(all) > 0 {
		group = all[len(all)-1].ID
	}
	return &cobra.Command{
		Use:     "help [command]",
		Short:   "Help about any command",
		GroupID: group,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			at, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, c := range at.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, args[0])
			}
			return cmd.Help()
		},
	}
}

// OnlyCommands refuses arguments of a command that only has commands.
func OnlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}

// onlyShells refuses arguments of the completion command that are not shells.
func onlyShells(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(Meant(cmd, args[0])) > 0 {
		return OnlyCommands(cmd, args)
	}
	return Errorf("completion %s: want bash, zsh, fish or powershell", args[0])
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Errorf("%s takes no arguments: got %s", Name(cmd), args[0])
	}
	return nil
}

// Name is the name of a command in its errors: without the program's, which comes first
// in each line.
func Name(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

func unknownCommand(cmd *cobra.Command, name string) error {
	if meant := Meant(cmd, name); len(meant) > 0 {
		return Errorf("unknown command %s: did you mean %s?", name, strings.Join(meant, " or "))
	}
	return Errorf("unknown command %s: see '%s --help'", name, cmd.CommandPath())
}

// Meant are the commands whose name is like that of an unknown one.
func Meant(cmd *cobra.Command, name string) []string {
	return slices.DeleteFunc(cmd.SuggestionsFor(name), func(s string) bool {
		return !strings.HasPrefix(s, name) && !spelling.Like(name, s)
	})
}
