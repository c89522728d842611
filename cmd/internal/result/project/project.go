// Package project makes a setting permanent in the files of a project's directory, and takes it
// out again: scripts of package.json, a Dockerfile, systemd units, the environment of CI. All
// bytes that need not change stay.
package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/input"
)

// ErrDefault is the error of a result that recommends the default.
var ErrDefault = errors.New("it recommends the default: nothing to write; --remove takes out what folio init put in")

// maxFile bounds a file that is edited, in bytes.
const maxFile = 4 << 20

// Options are what is put into the files.
type Options struct {
	Setting trial.Setting // its THP is THPHeap or THPSystem
	Image   string        // of folio, which a Dockerfile copies it from; "" if not known
	Version string        // of folio, as modules have it
	// Result is a result of tune, in JSON, that recommends the setting; From is its file.
	Result []byte
	From   string
	Remove bool // take out what was put in, instead
}

// A Change is new contents of a file.
type Change struct {
	Path     string // as an error names it
	Old, New []byte // nil for a file that does not exist
}

// A Plan is what is to be changed in a directory.
type Plan struct {
	Changes []Change
	// Notes say, a line each, why something is changed or is not.
	Notes []string
	// Set is how many places have the setting once the changes are made.
	Set     int
	dir     string
	remove  bool
	install bool // packages of npm, once the changes are made
}

// A planner makes a plan.
type planner struct {
	Options
	Plan
	seen []string // real paths of files in the plan
}

// Look finds what is to be changed in a directory. It changes nothing.
func Look(dir string, o Options) (Plan, error) {
	p := &planner{Options: o, Plan: Plan{remove: o.Remove, dir: dir}}
	if err := p.check(); err != nil {
		return Plan{}, err
	}
	for _, look := range []func() error{p.packageJSON, p.dockerfiles, p.units, p.environment} {
		if err := look(); err != nil {
			return Plan{}, err
		}
	}
	return p.Plan, nil
}

// takeResult sets the setting that the result recommends.
func (p *planner) takeResult() error {
	r, err := result.Read(p.From, p.Result)
	if err != nil {
		return err
	}
	f := r.Program()
	if f == nil || f.Kind != result.KindTune {
		return fmt.Errorf("it is a result of folio %s; want one of folio tune", r.Header().Kind)
	}
	p.Setting, p.Notes, err = recommended(f)
	return err
}

// recommended is the setting that a search recommends, and what to know of it.
func recommended(f *result.File) (s trial.Setting, notes []string, err error) {
	rec, arm, err := f.Recommended()
	if err != nil {
		return s, nil, err
	}
	s = arm.Setting.Trial()
	switch {
	case !s.Build.IsZero():
		return s, nil, fmt.Errorf("it recommends another build of the program: %s", strings.Join(append([]string{s.Build.String()}, rec.Permanent...), "; "))
	case s.THP != trial.THPHeap && s.THP != trial.THPSystem:
		return s, nil, fmt.Errorf("it recommends thp=%s, which only folio run has", s.THP)
	case s.Parts() == 0:
		return s, nil, ErrDefault
	}
	if f.Answer.State == result.AnswerInconclusive {
		notes = append(notes, "the search was inconclusive: a longer one may recommend something else")
	}
	if len(s.Env) > 0 {
		notes = append(notes, "not written: the variables of the search: "+strings.Join(s.Env, " "))
		s.Env = nil
	}
	return s, notes, nil
}

// check checks directory and options, before anything is looked for.
func (p *planner) check() error {
	info, err := os.Stat(p.dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory", p.dir)
	case strings.ContainsAny(p.Image, " \t\r\n\\"):
		return usage.Errorf("--image %q: not the name of an image", p.Image)
	case p.Remove:
		return nil
	case p.From != "":
		err = p.takeResult()
	case p.Setting.IsZero():
		return usage.Errorf("no setting to write: --thp system needs --gogc or --memlimit")
	}
	for _, v := range p.Setting.Vars() {
		err = cmp.Or(err, gosetting.Check(v, ""))
	}
	if err != nil && p.From != "" {
		err = fmt.Errorf("--from %s: %w", p.From, err)
	}
	return err
}

func (p *planner) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// read returns a file of the directory; nil if it does not exist.
func (p *planner) read(name string) ([]byte, error) {
	data, err := input.ReadFile(filepath.Join(p.dir, name), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return append([]byte{}, data...), err
}

func (p *planner) exists(name string) bool {
	_, err := os.Stat(filepath.Join(p.dir, name))
	return err == nil
}

// change plans new contents of a file: nil removes it.
func (p *planner) change(name string, old, text []byte) {
	if (old == nil) == (text == nil) && bytes.Equal(old, text) {
		return
	}
	path := filepath.Join(p.dir, name)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	if !slices.Contains(p.seen, real) { // by another name
		p.seen = append(p.seen, real)
		p.Changes = append(p.Changes, Change{path, old, text})
	}
}

// goProgram says how it is known that a program is a Go program, or why it is not. path is as on
// the system where it will run.
func (p *planner) goProgram(path string) (why string, ok bool) {
	local := filepath.Join(p.dir, filepath.Base(path))
	if filepath.IsAbs(path) {
		b, err := goruntime.ReadBuild(path)
		switch {
		case err == nil:
			return path + " is built with " + b.GoVersion, true
		case errors.Is(err, executable.ErrNotGo):
			return path + " is not a Go program", false
		}
	}
	if b, err := goruntime.ReadBuild(local); err == nil {
		return local + " is built with " + b.GoVersion, true
	}
	if p.exists("go.mod") {
		return "the directory has a go.mod", true
	}
	return path + " is not known to be a Go program: there is no such file here, and no go.mod", false
}

// A span is a part of a text.
type span struct{ from, to int }

// An edit is what a part of a text becomes.
type edit struct {
	span
	text string
}

func apply(text []byte, edits ...edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	out := []byte{}
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, text[at:]...)
}

// What is put into a file that has comments stands between these lines.
const (
	blockBegin = "# BEGIN folio init"
	blockEnd   = "# END folio init"
)

// block returns lines as they are put into a file with this newline.
func block(newline string, lines ...string) string {
	return strings.Join(slices.Concat([]string{blockBegin}, lines, []string{blockEnd, ""}), newline)
}

// findBlock returns where the block is in a text, with its last newline.
func findBlock(text []byte) (at span, ok bool) {
	at.from = -1
	pos := 0
	for line := range bytes.Lines(text) {
		next := pos + len(line)
		switch string(bytes.TrimRight(line, "\r\n")) {
		case blockBegin:
			at.from = pos
		case blockEnd:
			if at.to = next; at.from >= 0 {
				return at, true
			}
		}
		pos = next
	}
	return at, false
}

// newlineOf returns the newline of a text, that of its first line.
func newlineOf(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}
