package overlay

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
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
	// Temp returns a directory of the caller's own in base, which is where the go command
	// works by itself ("": the system's directory for temporary files). The go command
	// works there instead, and patched files are there where the user's cache cannot be
	// used. Default: there is none.
	Temp func(base string) (string, error)
}

// A Call is how to run a go command.
type Call struct {
	Path string
	Args []string // without its name
	Env  []string // nil: folio's own
	Set  []string // variables to add to it
	Dir  string
}

// Cmd returns the command, which ends when ctx does.
func (c Call) Cmd(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	if len(c.Set) > 0 {
		cmd.Env = append(cmd.Environ(), c.Set...)
	}
	return cmd
}

// Prepare writes the overlay and returns it with the call that makes go use it.
func (g GoCommand) Prepare(ctx context.Context) (o *Overlay, call Call, err error) {
	if len(g.Args) == 0 {
		return nil, call, CheckCommand("")
	} else if err := CheckCommand(g.Args[0]); err != nil {
		return nil, call, err
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
		return nil, call, err
	}
	call = Call{Env: g.Env, Dir: g.Dir}
	if call.Path, err = exec.LookPath(goOr(g.Go)); err != nil {
		return nil, call, err
	}
	temp := ""
	if g.Temp != nil {
		if temp, err = g.Temp(t.Temp); err != nil {
			return nil, call, err
		}
		call.Set = append(call.Set, "GOTMPDIR="+temp)
	}
	s, err := findStore(temp)
	if err != nil {
		return nil, call, err
	}
	user, rest, err := takeOverlay(rest, g.Args[0] == "run")
	if err != nil {
		return nil, call, err
	}
	if user == "" {
		user, _, err = takeOverlay(strings.Fields(t.Flags), false)
		if err != nil {
			return nil, call, fmt.Errorf("GOFLAGS: %w", err)
		}
	}
	set := call.Set
	write := func() error {
		t, moved, err := t.inModules(s)
		if err != nil {
			return err
		} else if moved {
			// Called by its own name it would find out where it really is.
			call.Path = filepath.Join(t.Root, "bin", "go")
			call.Set = append(slices.Clip(set), "GOROOT="+t.Root, "GOTOOLCHAIN=local")
		}
		o, err = s.apply(t, g.patches(), user, dir)
		return err
	}
	err = write()
	var unwritten *writeError
	if errors.As(err, &unwritten) && s.note == "" && temp != "" { // a full disk, a quota, mounted read-only
		s = storeIn(temp, unwritten.err)
		err = write()
	}
	if err != nil {
		return nil, call, err
	}
	call.Args = slices.Concat([]string{g.Args[0]}, chdir, []string{"-overlay=" + o.File}, rest)
	return o, call, nil
}

func (g GoCommand) patches() []*Patch {
	if g.Patches == nil {
		return Default()
	}
	return g.Patches
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
// With firstEnds, as go run has it, what follows the first argument that is not a flag is
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
