package project

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"mvdan.cc/sh/v3/syntax"

	"github.com/foliomem/folio/cmd/internal/trial"
)

const (
	packageFile = "package.json"
	// npmExec is folio exec --tree --thp heap as a command of npmPackage.
	npmExec    = "folio-exec"
	npmPackage = "@foliomem/folio"
)

// packageJSON puts folio-exec in front of the Go programs that scripts start.
func (p *planner) packageJSON() error {
	const name = packageFile
	old, err := p.read(name)
	if old == nil || err != nil {
		return err
	}
	words, vars := p.Setting.Exec()
	if len(vars) > 0 && !p.Remove {
		p.note("%s: not changed: %s has no flag for %s", name, npmExec, strings.Join(vars, " "))
		return nil
	}
	n := npmFile{prefix: npmPrefix(words), version: npmRange(p.Version), remove: p.Remove}
	modules := nodeModules{p.dir}
	n.starts = modules.starts
	text, err := n.edit(old)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(p.dir, name), err)
	}
	if !p.Remove && !modules.installed() {
		p.note("%s: no packages are installed (node_modules): install them, then run folio init again", name)
	}
	for _, note := range n.notes {
		p.note("%s: %s", name, note)
	}
	p.Set += n.set
	p.install = n.install
	p.change(name, old, text)
	return nil
}

// npmPrefix is what stands in front of a command: folio-exec, with flags for what it does not do
// by itself. words are the line of folio exec.
func npmPrefix(words []string) string {
	flags := words[2 : len(words)-1]
	if flags[1] == string(trial.THPHeap) {
		flags = flags[2:]
	}
	if len(flags) == 0 {
		return npmExec + " "
	}
	return npmExec + " " + strings.Join(flags, " ") + " -- "
}

// npmRange is the range of versions that package.json asks for. It is not what npm writes
// (^0.1.0), which tells what folio init wrote from what the user did.
func npmRange(version string) string {
	if !semver.IsValid(version) || semver.Build(version) != "" || module.IsPseudoVersion(version) {
		return "*"
	}
	return "~" + version[1:]
}

// fromInit says that a range of versions is one of npmRange.
func fromInit(version string) bool { return version == "*" || strings.HasPrefix(version, "~") }

// npmFile edits a package.json.
type npmFile struct {
	prefix  string // to put in front of commands
	version string // of the package, to depend on
	remove  bool
	// starts says which Go program a command of scripts is or starts; if it is not known to be
	// one, whether there is something to say.
	starts func(name string) (program, say string)

	notes []string
	set   int // commands that have the prefix
	// install says that the dependency changes.
	install bool
}

func (n *npmFile) note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(n.notes, note) {
		n.notes = append(n.notes, note)
	}
}

const bom = "\xef\xbb\xbf" // npm reads over it

// edit returns the new text.
func (n *npmFile) edit(text []byte) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(text, []byte(bom)); ok {
		out, err := n.edit(rest)
		return append([]byte(bom), out...), err
	}
	var whole json.RawMessage
	var wrong *json.SyntaxError
	if err := json.Unmarshal(text, &whole); errors.As(err, &wrong) {
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(len(text), int(wrong.Offset))], []byte("\n")), err)
	} else if err != nil {
		return nil, err
	}
	top, err := members(text, span{0, len(text)})
	if err != nil {
		return nil, err
	}
	scripts, ok := find(top, "scripts")
	if !ok {
		return text, nil
	}
	list, err := members(text, scripts.value)
	if err != nil {
		return nil, fmt.Errorf("scripts: %w", err)
	}
	var edits []edit
	for _, m := range list {
		raw := text[m.value.from:m.value.to]
		if raw[0] != '"' {
			continue
		}
		es, err := n.script(m.name, decode(raw[1:len(raw)-1]))
		if err != nil {
			n.note("script %s: not changed: cannot be read as a shell command: %v", m.name, err)
			continue
		}
		for _, e := range es {
			edits = append(edits, edit{span{m.value.from + rawOffset(raw, e.from), m.value.from + rawOffset(raw, e.to)}, e.text})
		}
	}
	e, err := n.dependency(text, top)
	if err != nil {
		return nil, err
	}
	n.install = len(e) > 0
	return apply(text, append(edits, e...)...), nil
}

var (
	// flagsOfInit are the flags that folio-exec gets here.
	flagsOfInit = regexp.MustCompile(`^((--(thp|gogc|memlimit) \S+ )+-- )?$`)
	// programWord is a word that may be a program.
	programWord  = regexp.MustCompile(`^[\w@./][\w@./+-]*$`)
	variableWord = regexp.MustCompile(`^\w+=`)
)

// launchers start the command that follows them.
var launchers = []string{"npx", "bunx", "env", "cross-env", "npm exec", "npm exec --", "pnpm exec", "pnpm", "yarn exec", "yarn"}

// script returns the edits of the shell command of a script.
func (n *npmFile) script(name, script string) (edits []edit, err error) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil, err
	}
	syntax.Walk(f, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			if e, ok := n.call(name, script, call.Args); ok {
				edits = append(edits, e)
			}
		}
		return true
	})
	return edits, nil
}

// call returns the edit of a simple command.
func (n *npmFile) call(name, script string, args []*syntax.Word) (e edit, ok bool) {
	words := make([]string, len(args)) // "" for those with quotes or variables
	for i, a := range args {
		words[i] = a.Lit()
	}
	at := func(i int) int { return int(args[i].Pos().Offset()) }
	from := at(0)
	if words[0] == "" || from > len(script) || !strings.HasPrefix(script[from:], words[0]) {
		return e, false
	}
	if words[0] == npmExec {
		command := 1
		if len(words) > 1 && strings.HasPrefix(words[1], "-") {
			command = slices.Index(words, "--") + 1
		}
		if command == 0 || command >= len(words) {
			return e, false
		}
		e = edit{span: span{from, at(command)}}
		if n.remove {
			return e, true
		}
		n.set++
		e.text = n.prefix
		before := script[from:e.to]
		return e, before != n.prefix && flagsOfInit.MatchString(strings.TrimPrefix(before, npmExec+" "))
	}
	program := commandOf(words)
	if n.remove || program == "" {
		return e, false
	}
	starts, say := n.starts(program)
	switch {
	case starts != "":
		n.set++
		n.note("script %s: %s", name, starts)
		return edit{span{from, from}, n.prefix}, true
	case say != "":
		n.note("script %s: not changed: %s", name, say)
	}
	return e, false
}

// commandOf is the command that a launcher starts, or the first word; "" if it is not known.
func commandOf(words []string) string {
	i := 0
	for _, l := range launchers {
		if k := len(strings.Fields(l)); len(words) > k && strings.Join(words[:k], " ") == l {
			i = max(i, k)
		}
	}
	for i > 0 && i < len(words) && variableWord.MatchString(words[i]) {
		i++
	}
	if i == len(words) || !programWord.MatchString(words[i]) {
		return ""
	}
	return words[i]
}

// dependency returns the edit that has npm install folio, or not any more.
func (n *npmFile) dependency(text []byte, top []member) ([]edit, error) {
	const devName = "devDependencies"
	for _, name := range []string{"dependencies", "optionalDependencies"} {
		if m, ok := find(top, name); ok {
			list, _ := members(text, m.value) // null is none
			if _, ok := find(list, npmPackage); ok {
				return nil, nil
			}
		}
	}
	dev, exists := find(top, devName)
	var list []member
	if exists {
		var err error
		if list, err = members(text, dev.value); err != nil {
			return nil, fmt.Errorf("%s: %w", devName, err)
		}
	}
	own := slices.IndexFunc(list, func(m member) bool { return m.name == npmPackage })
	switch {
	case n.remove && own >= 0:
		var version string
		if json.Unmarshal(text[list[own].value.from:list[own].value.to], &version) != nil || !fromInit(version) {
			return nil, nil
		}
		return []edit{removeMember(text, top, dev, list, own)}, nil
	case n.remove || own >= 0 || n.set == 0:
		return nil, nil
	case !exists:
		return []edit{addObject(text, top[len(top)-1], devName, n.version)}, nil
	}
	return []edit{addMember(text, dev, list, n.version)}, nil
}
