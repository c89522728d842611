package result

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"github.com/foliomem/folio/internal/base/unit"
)

// Holds names what a result says of its machine and its user that --redact leaves out.
func (r *Result) Holds() []string {
	var out []string
	add := func(what string, holds bool) {
		if holds && !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	host := r.Host()
	add("the host's name", host != nil && host.Name != "")
	args := func(words []string) bool { return len(words) > 0 && !slices.Equal(words, redactedCommand(words)) }
	env := func(list []string) bool { return !slices.Equal(list, redactedEnvs(list)) }
	switch f := r.Of.(type) {
	case *File:
		p := f.Program
		add("the command line", args(p.Command))
		add("the name of its input", p.Input != "" && p.Input != left)
		add("what starts and loads the server", p.Load != "" && p.Load != left)
		add("addresses of the server", p.Requests != nil && !f.Redacted)
		for _, a := range f.Arms {
			add("variables of the environment", env(a.Setting.Env))
			for _, s := range a.Samples {
				add("addresses that the program listened at", len(s.Listening) > 0)
			}
		}
	case *AB:
		for _, a := range f.Arms {
			add("the command lines", args(a.Program.Command))
			add("addresses of the server", a.Program.Requests != nil && !f.Redacted)
			add("variables of the environment", env(a.Env) || env(f.Setting.Env))
		}
	case *Inspect:
		if p := f.Process; p != nil {
			add(fmt.Sprintf("the command line of process %d", p.PID), args(p.Command))
			add("its user", p.UID != nil)
			break
		}
		n, users := 0, false
		for _, p := range *f.Processes {
			users = users || p.UID != nil
			if args(p.Command) {
				n++
			}
		}
		add("command lines of "+unit.Plural(n, "process"), n > 0)
		add("their users", users)
	case *Doctor:
		if p := f.Process; p != nil {
			add(fmt.Sprintf("the command line of process %d", p.PID), args(p.Command))
		}
	case *Suggest:
		add("the command line", args(f.Command))
		add("lines of source code", slices.ContainsFunc(f.Suggestions, func(s Suggestion) bool { return s.Source != nil }))
	case *Load:
		add("addresses of the server", !f.Redacted)
	case *Sites:
		if f.PID != nil {
			add(fmt.Sprintf("the command line of process %d", *f.PID), args(f.Command))
		}
	case *Charge:
		n := 0
		for _, p := range f.Processes {
			if args(p.Command) {
				n++
			}
			add("users of processes", p.UID != nil)
		}
		add("command lines of "+unit.Plural(n, "process"), n > 0)
	case *Collapse:
		add(fmt.Sprintf("the command line of process %d", f.PID), args(f.Command))
	}
	add("cgroup paths", bytes.Contains(r.JSON, []byte("/sys/fs/cgroup/")) && !r.Header().Redacted)
	add("directories of source files", sourceDirs(r.JSON))
	return out
}

// sourceFile is the name of a source file with a directory, in JSON.
var sourceFile = regexp.MustCompile(`"file":\s*"(?:[^"]*/|[^"]*\\\\)`)

// sourceDirs says that a result names a source file with its directory.
func sourceDirs(data []byte) bool { return sourceFile.Match(data) }
