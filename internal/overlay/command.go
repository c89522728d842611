package overlay

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// building are the commands of go that take -overlay, as far as they build something or
// tell how.
var building = []string{"build", "install", "run", "test", "vet", "list"}

// CheckCommand returns an error if a command of go takes no patches.
func CheckCommand(name string) error {
	if slices.Contains(building, name) {
		return nil
	}
	return fmt.Errorf("go %s: takes no patches: want one of %s", name, strings.Join(building, ", "))
}

// A GoCommand is a command of go, to be run with patches.
type GoCommand struct {
	Go      string   // the go command; default: go of PATH
	Dir     string   // where it runs; default: the current directory
	Env     []string // default: folio's own
	Patches []*Patch // default: Default()
	Args    []string // build, test ..., its flags, and packages
}

// Prepare writes the overlay and returns it with the arguments that make go use it.
func (g GoCommand) Prepare(ctx context.Context) (*Overlay, []string, error) {
	if len(g.Args) == 0 {
		return nil, nil, CheckCommand("")
	} else if err := CheckCommand(g.Args[0]); err != nil {
		return nil, nil, err
	}
	dir := g.Dir
	rest := g.Args[1:]
	var chdir []string
	if dir2, n := changeDir(rest); n > 0 {
		// go wants -C first, and takes all paths after it from there.
		chdir, rest = rest[:n], rest[n:]
		if dir = filepath.Join(dir, dir2); filepath.IsAbs(dir2) {
			dir = dir2
		}
	}
	t, err := FindToolchain(ctx, g.Go, dir, g.Env)
	if err != nil {
		return nil, nil, err
	}
	user, rest, err := takeOverlay(rest, g.Args[0] == "run")
	if err != nil {
		return nil, nil, err
	}
	if user == "" {
		user, _, err = takeOverlay(strings.Fields(t.Flags), false)
		if err != nil {
			return nil, nil, fmt.Errorf("GOFLAGS: %w", err)
		}
	}
	patches := g.Patches
	if patches == nil {
		patches = Default()
	}
	o, err := Apply(t, patches, user, dir)
	if err != nil {
		return nil, nil, err
	}
	return o, slices.Concat([]string{g.Args[0]}, chdir, []string{"-overlay=" + o.File}, rest), nil
}

// changeDir returns the directory of go's -C, and in how many arguments it stands.
func changeDir(args []string) (string, int) {
	if len(args) == 0 {
		return "", 0
	}
	name, value, has := flagOf(args[0])
	switch {
	case name != "C":
		return "", 0
	case has:
		return value, 1
	case len(args) > 1:
		return args[1], 2
	}
	return "", 0
}

// takeOverlay takes -overlay out of arguments: of several the last counts.
func takeOverlay(args []string, firstEnds bool) (file string, rest []string, err error) {
	values, rest, err := TakeFlag(args, "overlay", firstEnds)
	if len(values) > 0 {
		file = values[len(values)-1]
	}
	return file, rest, err
}

// TakeFlag takes a flag with its values out of arguments of a go command that builds.
// With firstEnds, as go run has it, what follows the first argument that is no flag is
// the program's.
func TakeFlag(args []string, flag string, firstEnds bool) (values, rest []string, err error) {
	valued := false // the last argument was a flag that takes this one
	for i := 0; i < len(args); i++ {
		name, value, has := flagOf(args[i])
		wasValued := valued
		valued = name != "" && !has && !slices.Contains(switches, name)
		switch {
		case name == "args" || args[i] == "--" || name == "" && firstEnds && !wasValued:
			return values, append(rest, args[i:]...), nil
		case name != flag:
			rest = append(rest, args[i])
		case has:
			values = append(values, value)
		case i+1 < len(args):
			i++
			valued = false
			values = append(values, args[i])
		default:
			return nil, nil, fmt.Errorf("-%s: want a value", flag)
		}
	}
	return values, rest, nil
}

// flagOf splits a flag as package flag does: -name, --name, -name=value.
func flagOf(arg string) (name, value string, has bool) {
	rest, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return "", "", false
	}
	return strings.Cut(strings.TrimPrefix(rest, "-"), "=")
}

// switches are flags of go's build commands that take no value after a space.
var switches = []string{"a", "asan", "buildvcs", "cover", "linkshared", "modcacherw", "msan", "n", "race", "trimpath", "v", "work", "x"}
