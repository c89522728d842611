package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// execSwitch is the environment variable that turns folio exec off.
const execSwitch = "FOLIO_EXEC"

const execLong = `Run a program with its heap on huge pages from the first touch.

A Go program built with Go 1.21.6 or later asks for huge pages for its heap after
two instructions of its runtime (runtime.sysMapOS) are changed. folio exec changes
them in the memory of the process when the kernel has loaded the program and before
its first instruction. The file stays as it is; no root, no rebuild; the process
keeps its id, and nothing stays attached to it. It needs transparent huge pages in
mode madvise or always, and ptrace.

With --tree it stays as the parent of the command, and changes every Go program that the
command starts, directly or not: folio exec --tree -- npx tsc. Signals, terminal, exit code
and descriptors are the command's own.

A program that cannot be changed (not Go, an older Go, setuid, ptrace denied) runs as
it is, and one line on standard error says why; --strict fails instead. ` + execSwitch + `=off
in the environment turns folio exec off: the program runs as if folio were not there.
See https://github.com/foliomem/folio/blob/main/docs/exec.md

Exit codes: those of the program; 126 if it cannot be executed, or with --strict not
changed; 127 if it is not found; 2 for wrong usage.`

// settingFlags are a setting that folio exec can give a program.
type settingFlags struct {
	thp     string
	runtime goFlags
}

func (f *settingFlags) add(fs *pflag.FlagSet, otherwise string) {
	fs.StringVar(&f.thp, "thp", "heap", "`mode` of transparent huge pages: heap: the heap asks for them; system: nothing is changed")
	f.runtime.add(fs, true, otherwise)
}

func (f *settingFlags) setting() (trial.Setting, error) {
	if f.thp != "heap" && f.thp != "system" {
		return trial.Setting{}, misusef("--thp %q: want heap or system", f.thp)
	}
	s, err := f.runtime.setting()
	if f.thp == "heap" {
		s.THP = trial.THPHeap
	}
	return s, misuse(err)
}

type execFlags struct {
	settingFlags
	tree    bool
	verbose bool
	strict  bool
}

func newExec(a *app) *cobra.Command { return execCommand(a, &execFlags{}) }

func execCommand(a *app, f *execFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "exec [flags] -- command [args]",
		Short: "Run a program with its heap on huge pages",
		Long:  execLong,
		Example: `  folio exec -- ./server
  folio exec --gogc 400 --memlimit 2GiB -- ./server
  folio exec --tree --gogc 400 -- npx tsc -p .
  ENTRYPOINT ["/folio", "exec", "--", "/server"]
  ExecStart=/usr/bin/folio exec -- /usr/bin/server`,
		RunE: func(_ *cobra.Command, args []string) error { return a.exec(f, args) },
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	f.add(fs, "from the environment")
	fs.BoolVar(&f.tree, "tree", false, "stay as the parent, and put the heap of every Go program that the command starts on huge pages")
	fs.BoolVar(&f.verbose, "verbose", false, "stay as the parent, and say on standard error when the change is lost, as the process executes\nanother program; with --tree, at the end which programs were changed")
	fs.BoolVar(&f.strict, "strict", false, "fail with exit code 126 if the program would run unchanged")
	return cmd
}

// A launchRequest is what folio exec was asked for.
type launchRequest struct {
	args    []string
	path    string
	heap    bool // on huge pages
	setting trial.Setting
	// wholeTree has the heaps of all Go programs that it starts on huge pages too.
	wholeTree, verbose bool
	strict             bool
	off                bool
	note               string // of the switch
}

// request checks flags and switch.
func (f *execFlags) request(args []string) (r launchRequest, err error) {
	switch {
	case len(args) == 0:
		return r, misusef("exec: no command given: folio exec -- command [args]")
	case f.verbose && f.strict && !f.tree:
		return r, misusef("--verbose with --strict needs --tree")
	}
	r = launchRequest{args: args, wholeTree: f.tree, verbose: f.verbose, strict: f.strict}
	if r.setting, err = f.setting(); err != nil {
		return r, err
	}
	r.heap = r.setting.THP == trial.THPHeap
	switch v := os.Getenv(execSwitch); v {
	case "", "on":
	case "off":
		r.off = true
	default:
		// Whoever sets it wants something else than what they have now.
		r.off = true
		r.note = fmt.Sprintf("%s=%s: want on or off; taken as off", execSwitch, v)
	}
	return r, nil
}

// find finds the program as the shell does.
func (r *launchRequest) find() error {
	path, err := trial.LookPath(r.args[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil // PATH names the directory: the user's choice
	}
	r.path = path
	return err
}

// failed says that the program was found, and not executed.
func (r *launchRequest) failed(err error) error {
	if err == nil {
		return nil
	}
	return trial.NotExecuted(r.args[0], err)
}
