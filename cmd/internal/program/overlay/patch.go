package overlay

import (
	"errors"
	"fmt"
	"go/version"
	"path"
	"slices"
	"strings"
)

// A Patch is edits of files of the standard library, for some versions of Go.
type Patch struct {
	Name     string
	Summary  string // one line: what it does
	Why      string
	Upstream string // what Go's developers say of it
	Remove   string // when this patch has had its day
	Evidence string // what was measured, and where to find it
	Switch   string // how to set or turn it off in the program that has it; may be empty

	Go         []string // the language versions that it fits, such as "go1.26"
	Effect     []string // GOOS, GOARCH or GOOS/GOARCH that it changes anything on; none: all
	Experiment string   // GOEXPERIMENT that it needs; may be empty
	Default    bool     // applied when the user names no patches

	Hash string // of the text of the patch

	edits []edit
	files []newFile
}

// An edit is text that takes the place of other text, or stands beside it.
type edit struct {
	file  string   // below GOROOT, with slashes
	only  []string // language versions; none: all of the patch
	count int      // how often find must stand in the file
	find  string   // whole lines
	how   how
	text  string
}

type how int

const (
	replaced how = iota
	before
	after
)

// A newFile is a file that the standard library has not.
type newFile struct {
	file string
	only []string
	text string
}

func (e edit) fits(lang string) bool    { return len(e.only) == 0 || slices.Contains(e.only, lang) }
func (f newFile) fits(lang string) bool { return len(f.only) == 0 || slices.Contains(f.only, lang) }

// adds reports whether a file is one that the patch adds: none is edited as well, since
// edits are of files that are there.
func (p *Patch) adds(file string) bool {
	return slices.ContainsFunc(p.files, func(f newFile) bool { return f.file == file })
}

// parse reads the text of a patch. Its form is told in patches/README.md.
func parse(text string) (*Patch, error) {
	p := &parser{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	out, err := p.patch()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", min(p.at+1, len(p.lines)), err)
	}
	out.Hash = hash(text)[:12]
	return out, nil
}

type parser struct {
	lines []string
	at    int
}

// line returns the line that is next, without comments and empty ones.
func (p *parser) line() (string, bool) {
	for ; p.at < len(p.lines); p.at++ {
		if l := p.lines[p.at]; l != "" && !strings.HasPrefix(l, "#") {
			return l, true
		}
	}
	return "", false
}

func (p *parser) patch() (*Patch, error) {
	out := &Patch{}
	if err := p.header(out); err != nil {
		return nil, err
	}
	for {
		line, ok := p.line()
		if !ok {
			break
		}
		word, file, _ := strings.Cut(line, " ")
		if file != path.Clean(file) || !strings.HasPrefix(file, "src/") {
			return nil, fmt.Errorf("file %q: want a clean path that begins with src/", file)
		}
		p.at++
		only, err := p.only(out)
		if err != nil {
			return nil, err
		}
		switch word {
		case "new":
			text, err := p.block()
			if err != nil {
				return nil, err
			}
			out.files = append(out.files, newFile{file, only, text})
		case "edit":
			e, err := p.edit()
			if err != nil {
				return nil, err
			}
			e.file, e.only = file, only
			out.edits = append(out.edits, e)
		default:
			return nil, fmt.Errorf("%q: want edit or new", word)
		}
	}
	if len(out.edits)+len(out.files) == 0 {
		return nil, errors.New("no edit")
	}
	return out, nil
}

// header reads the fields: "name: value", with values going on in lines that begin with
// a space.
func (p *parser) header(out *Patch) error {
	fields := map[string]*string{
		"name": &out.Name, "summary": &out.Summary, "why": &out.Why, "upstream": &out.Upstream,
		"remove": &out.Remove, "evidence": &out.Evidence, "switch": &out.Switch, "experiment": &out.Experiment,
		"go": new(string), "effect": new(string), "default": new(string),
	}
	var last *string
	for ; ; p.at++ {
		line, ok := p.line()
		if !ok {
			return errors.New("no edit")
		}
		if strings.HasPrefix(line, " ") && last != nil {
			*last += " " + strings.TrimSpace(line)
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			break
		}
		if last = fields[key]; last == nil {
			return fmt.Errorf("unknown field %q", key)
		}
		if *last != "" {
			return fmt.Errorf("field %q stands twice", key)
		}
		*last = value
	}
	out.Go = strings.Fields(*fields["go"])
	out.Effect = strings.Fields(*fields["effect"])
	out.Default = *fields["default"] == "yes"
	for _, key := range []string{"name", "summary", "why", "upstream", "remove", "evidence", "go"} {
		if *fields[key] == "" {
			return fmt.Errorf("no field %q", key)
		}
	}
	return langs(out.Go)
}

func langs(list []string) error {
	for _, v := range list {
		if version.Lang(v) != v {
			return fmt.Errorf("%q: want a language version, such as go1.26", v)
		}
	}
	return nil
}

// only reads the line that says for which versions what follows is.
func (p *parser) only(of *Patch) ([]string, error) {
	line, _ := p.line()
	value, ok := strings.CutPrefix(line, "go: ")
	if !ok {
		return nil, nil
	}
	p.at++
	out := strings.Fields(value)
	for _, v := range out {
		if !slices.Contains(of.Go, v) {
			return nil, fmt.Errorf("%s is none of the versions of the patch", v)
		}
	}
	return out, nil
}

func (p *parser) edit() (edit, error) {
	var e edit
	line, _ := p.line()
	if n, err := fmt.Sscanf(line, "find %d", &e.count); n != 1 || err != nil || e.count < 1 {
		return e, fmt.Errorf("%q: want find and how often", line)
	}
	p.at++
	var err error
	if e.find, err = p.block(); err != nil {
		return e, err
	}
	line, _ = p.line()
	switch line {
	case "replace":
		e.how = replaced
	case "before":
		e.how = before
	case "after":
		e.how = after
	default:
		return e, fmt.Errorf("%q: want replace, before or after", line)
	}
	p.at++
	e.text, err = p.block()
	return e, err
}

// block reads lines that begin with "|": what follows it, verbatim, is text.
func (p *parser) block() (string, error) {
	var b strings.Builder
	for p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "|") {
		b.WriteString(p.lines[p.at][1:])
		b.WriteByte('\n')
		p.at++
	}
	if b.Len() == 0 {
		return "", errors.New("want lines that begin with |")
	}
	return b.String(), nil
}
