package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// An abArm is a program to compare.
type abArm struct {
	name          string
	env           []string // KEY=VALUE, of this one alone
	thp           trial.THP
	tree          bool     // it is meant for what the command starts, too: how it is named
	command, show []string // what is run, and what is shown of it
	dir           string
	source        *result.Source
}

// commands returns the arms of commands with -- between them.
func abCommands(args []string) ([]abArm, error) {
	var out []abArm
	for len(args) > 0 {
		if args[0] == "" || args[0] == "--" {
			return nil, misusef("ab: command %d is empty: folio ab -- ./old args -- ./new args", len(out)+1)
		}
		vars := 0
		for vars < len(args) && variable.MatchString(args[vars]) {
			if sets(args[:vars], args[vars]) {
				return nil, misusef("ab: command %d sets a variable twice: %s", len(out)+1, args[vars])
			}
			if err := gosetting.CheckMeant(args[vars]); err != nil {
				return nil, misusef("ab: command %d: %v", len(out)+1, err)
			}
			vars++
		}
		set, tree, rest, err := abSetting(args[vars:])
		if err != nil {
			return nil, misusef("ab: command %d: %w", len(out)+1, err)
		}
		n := slices.Index(rest, "--")
		if n < 0 {
			n = len(rest)
		}
		if n == 0 {
			return nil, misusef("ab: command %d has settings and no program: folio ab -- ./prog args -- GOGC=800 ./prog args", len(out)+1)
		}
		command := slices.Clone(rest[:n])
		out = append(out, abArm{
			env: trial.Setting{Env: set.Vars()}.Environ(args[:vars]), thp: set.THP, tree: tree, command: command, show: command})
		if args = rest[n:]; len(args) == 1 {
			return nil, misusef("ab: no command after the last --: folio ab -- ./old args -- ./new args")
		} else if len(args) > 1 {
			args = args[1:]
		}
	}
	if len(out) < 2 {
		return nil, misusef("ab: %s given: it compares two or more: folio ab -- ./old args -- ./new args", unit.Plural(len(out), "command"))
	}
	names := make(map[string]int)
	short := func(a abArm) string {
		return a.line([]string{trial.CommandName(a.command)})
	}
	for _, a := range out {
		names[short(a)]++
	}
	used := make(map[string]int)
	for i := range out {
		a := &out[i]
		if a.name = short(*a); names[a.name] > 1 {
			a.name = a.line(a.command)
		}
		if used[a.name]++; used[a.name] > 1 {
			a.name += fmt.Sprintf(" (%d)", used[a.name])
		}
	}
	return out, nil
}

// own is what the arm sets besides what all do.
func (a abArm) own() trial.Setting { return trial.Setting{THP: a.thp, Env: a.env} }

// line starts a command with what is the arm's own.
func (a abArm) line(command []string) string {
	if a.tree {
		return a.own().TreeLine(command)
	}
	return a.own().Line(command)
}

// variable is a word that sets a variable for the command behind it, as in a shell.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// sets says whether one of vars sets the variable that kv does.
func sets(vars []string, kv string) bool {
	key, _, _ := strings.Cut(kv, "=")
	return slices.ContainsFunc(vars, func(v string) bool { return strings.HasPrefix(v, key+"=") })
}

// abSetting reads words that begin with folio exec or folio run, as folio tune recommends
// them: the setting that they start a program with, and the words behind their own --. Of
// other words it returns all. The runs of a program follow what it starts: folio exec --tree is
// a setting as well.
func abSetting(words []string) (set trial.Setting, tree bool, rest []string, err error) {
	if len(words) < 2 || !isFolio(words[0]) {
		return set, false, words, nil
	}
	var cmd *cobra.Command
	var read func(args []string) (trial.Setting, error)
	switch words[1] {
	case "exec":
		f := &execFlags{}
		cmd, read = execCommand(nil, f), f.asked
	case "run":
		f := &runFlags{}
		cmd, read = runCommand(nil, f), f.asked
	default:
		return set, false, words, nil
	}
	root := &cobra.Command{Use: "folio"}
	root.AddCommand(cmd)
	usage.Strict(root)
	switch err := cmd.ParseFlags(words[2:]); {
	case errors.Is(err, pflag.ErrHelp):
		return set, false, nil, errors.New("--help starts no program")
	case err != nil:
		return set, false, nil, cmd.FlagErrorFunc()(cmd, err)
	}
	rest = cmd.Flags().Args()
	set, err = read(rest)
	if flag := cmd.Flags().Lookup("tree"); flag != nil {
		tree = flag.Value.String() == "true"
	}
	return set, tree, rest, err
}

// isFolio says whether a command is folio: by its name, or because it is this program.
func isFolio(command string) bool {
	if filepath.Base(command) == "folio" {
		return true
	}
	path, err := exec.LookPath(command)
	if err != nil {
		return false
	}
	self, err := os.Executable()
	if err != nil {
		return false
	}
	a, errA := os.Stat(path)
	b, errB := os.Stat(self)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// asked is the setting that folio exec starts a program with.
func (f *execFlags) asked(args []string) (trial.Setting, error) {
	r, err := f.request(args)
	switch {
	case err != nil:
		return r.setting, err
	case r.off:
		return r.setting, fmt.Errorf("%s=%s turns folio exec off: unset it", execSwitch, os.Getenv(execSwitch))
	case r.heap:
		r.setting.THP = trial.THPHeap
	}
	return r.setting, nil
}

// asked is the setting that folio run starts a program with. Its other flags are refused:
// how programs are run and compared is for those of folio ab to say.
func (f *runFlags) asked(args []string) (set trial.Setting, err error) {
	settings := map[string]bool{"thp": true, "env": true}
	for _, v := range trial.GoVariables {
		settings[v.Flag] = true
	}
	f.given.Visit(func(flag *pflag.Flag) {
		switch {
		case err != nil || settings[flag.Name]:
		case flag.Name == "build":
			err = errors.New("folio run --build: ab takes programs: build it first, with folio build, or compare revisions with --rev")
		default:
			err = fmt.Errorf("folio run --%s: only flags that make a setting go before a program: give the others to folio ab", flag.Name)
		}
	})
	switch {
	case err != nil:
		return set, err
	case len(args) == 0:
		return set, errors.New("run: no command given: folio run [flags] -- command args")
	}
	if set, err = f.setting(); err != nil {
		return set, err
	}
	set.Env = f.env
	set.THP, err = trial.ParseTHP(f.thp)
	return set, errors.Join(err, gosetting.CheckFlag("--env", f.env))
}
