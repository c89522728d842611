package project

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// dockerfiles has ENTRYPOINT or CMD of an image's last stage start their Go program by folio exec.
func (p *planner) dockerfiles() error {
	for _, name := range []string{"Dockerfile", "Containerfile"} {
		old, err := p.read(name)
		if err != nil {
			return err
		}
		if old == nil {
			continue
		}
		text, image := withoutFolio(old)
		if !p.Remove {
			d := &dockerfile{planner: p, name: name, image: image}
			if p.Image != "" {
				d.image = p.Image
			}
			d.text = text
			if text = d.edit(); text == nil {
				text = old // as it is: the reason has been said
			}
		}
		p.change(name, old, text)
	}
	return nil
}

// copied is the line that puts folio into an image.
var copied = regexp.MustCompile(`(?m)^COPY --from=(\S+) /folio `)

// withoutFolio returns a Dockerfile without what was put in, and the image that folio came from.
func withoutFolio(text []byte) (out []byte, image string) {
	at, ok := findBlock(text)
	if !ok {
		return text, ""
	}
	if m := copied.FindSubmatch(text[at.from:at.to]); m != nil {
		image = string(m[1])
	}
	plain, list := instructions(text)
	for _, i := range list {
		if i.from < at.to || i.word != "ENTRYPOINT" && i.word != "CMD" {
			continue
		}
		els, _ := elements(plain, i.args)
		from := folioExec(els)
		if from < 0 {
			continue
		}
		to := from + 1 + slices.IndexFunc(els[from:], func(e element) bool { return e.value == "--" })
		if to > from && to < len(els) {
			return apply(text, edit{span: at}, edit{span: span{els[from].from, els[to].from}}), image
		}
	}
	return apply(text, edit{span: at}), image
}

// folioExec returns where an exec form has folio exec; -1 if it has not.
func folioExec(els []element) int {
	for i := range els {
		if i+1 < len(els) && path.Base(els[i].value) == "folio" && els[i+1].value == "exec" {
			return i
		}
	}
	return -1
}

// A dockerfile is one that folio is put into.
type dockerfile struct {
	*planner
	name, image string
	text, plain []byte
	stages      []stage
}

func (d *dockerfile) say(i *instruction, format string, args ...any) {
	d.note("%s:%d: %s", d.name, i.line, fmt.Sprintf(format, args...))
}

// edit returns the new text; nil if nothing can be done.
func (d *dockerfile) edit() []byte {
	var list []instruction
	d.plain, list = instructions(d.text)
	d.stages = stages(list)
	if len(d.stages) == 0 {
		d.note("%s: not changed: it has no FROM", d.name)
		return nil
	}
	i, e, why := d.target()
	if i == nil {
		return nil
	}
	words, vars := d.Setting.Exec()
	var lines []string
	var edits []edit
	if d.Setting.THP == trial.THPHeap {
		if d.image == "" {
			d.say(i, "not changed: name your image of folio, such as --image registry.example/folio:0.1.0")
			return nil
		}
		lines = append(lines, "COPY --from="+d.image+" /folio /usr/local/bin/folio")
		edits = append(edits, edit{span{e.from, e.from}, quoted(words) + ", "})
	} else {
		vars = d.Setting.Vars()
	}
	if len(vars) > 0 {
		lines = append(lines, "ENV "+strings.Join(vars, " "))
	}
	d.Set++
	d.say(i, "%s: %s", i.word, why)
	return apply(d.text, append(edits, edit{span{i.from, i.from}, block(newlineOf(d.text), lines...)})...)
}

// target returns the instruction that starts a Go program, its word for that, and how that is
// known. It is nil if there is none, or nothing to do: that has been said then.
func (d *dockerfile) target() (i *instruction, e element, why string) {
	final := d.stages[len(d.stages)-1]
	i = final.last("ENTRYPOINT")
	if i == nil {
		i = final.last("CMD")
	}
	if i == nil {
		d.say(&final[0], "not changed: the last stage has no ENTRYPOINT and no CMD")
		return nil, e, ""
	}
	for {
		els, ok := elements(d.plain, i.args)
		if !ok {
			d.adviseShellForm(i)
			return nil, e, ""
		}
		if folioExec(els) >= 0 {
			d.Set++
			d.say(i, "%s has folio exec already, not by folio init", i.word)
			return nil, e, ""
		}
		reason := ""
		for k, e := range els {
			if k > 0 && els[k-1].value != "--" { // as in ["tini", "--", "/server"]
				continue
			}
			why, ok := d.isGo(e.value)
			if ok {
				return i, e, why
			}
			reason = why
		}
		cmd := final.last("CMD")
		if i.word == "ENTRYPOINT" && cmd != nil && len(els) > 0 && els[len(els)-1].value == "--" {
			i = cmd
			continue
		}
		d.say(i, "%s: not changed: %s", i.word, reason)
		return nil, e, ""
	}
}

// adviseShellForm says how a shell form is written as an exec form.
func (d *dockerfile) adviseShellForm(i *instruction) {
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(string(d.plain[i.args.from:i.args.to])), "exec "))
	if len(words) == 0 {
		return
	}
	if why, ok := d.isGo(words[0]); !ok {
		d.say(i, "%s: not changed: shell form; %s", i.word, why)
		return
	}
	if d.Setting.THP == trial.THPHeap {
		launcher, _ := d.Setting.Exec()
		words = append(launcher, words...)
	}
	d.say(i, "%s: not changed: shell form; write it as exec form: %s [%s]", i.word, i.word, quoted(words))
}

func quoted(words []string) string {
	var out []string
	for _, w := range words {
		q, _ := json.Marshal(w) // strings can be
		out = append(out, string(q))
	}
	return strings.Join(out, ", ")
}

// isGo says how it is known that a program of the last stage is a Go program, or that it is not.
func (d *dockerfile) isGo(program string) (why string, ok bool) {
	final := d.stages[len(d.stages)-1]
	for k := len(final) - 1; k > 0; k-- {
		from, sources, to, ok := d.copy(&final[k])
		if !ok || !brings(sources, to, program) {
			continue
		}
		if from == "" {
			for _, s := range append([]string{program}, sources...) {
				local := filepath.Join(d.dir, filepath.FromSlash(s))
				if b, err := goruntime.ReadBuild(local); err == nil {
					return fmt.Sprintf("%s is %s, built with %s", program, local, b.GoVersion), true
				}
			}
			return program + " is not known to be a Go program: it is copied in line " + strconv.Itoa(final[k].line), false
		}
		if s, name := d.stage(from); s != nil && d.builds(s, 0) {
			return program + " is built by Go in stage " + name, true
		}
		return program + " is not known to be a Go program: stage or image " + from + " does not build with Go", false
	}
	if d.builds(final, 0) {
		return program + " is taken for a Go program: its stage builds with Go", true
	}
	return program + " is not known to be a Go program: no COPY of the last stage brings it", false
}

// copy reads a COPY.
func (d *dockerfile) copy(i *instruction) (from string, sources []string, to string, ok bool) {
	if i.word != "COPY" && i.word != "ADD" {
		return "", nil, "", false
	}
	text := strings.TrimSpace(string(d.plain[i.args.from:i.args.to]))
	words := strings.Fields(text)
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		if v, ok := strings.CutPrefix(words[0], "--from="); ok {
			from = v
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, words[0]))
		words = words[1:]
	}
	var list []string
	if json.Unmarshal([]byte(text), &list) == nil {
		words = list
	}
	if len(words) < 2 {
		return "", nil, "", false
	}
	return from, words[:len(words)-1], words[len(words)-1], true
}

// brings says whether a COPY brings a program.
func brings(sources []string, to, program string) bool {
	base := path.Base(program)
	if path.Base(to) == base || slices.ContainsFunc(sources, func(s string) bool { return path.Base(s) == base }) {
		return true
	}
	dir := strings.HasSuffix(to, "/") && to != "/"
	return dir && (strings.HasPrefix(program, to) || !strings.Contains(program, "/"))
}

// stage returns the stage of a name or number.
func (d *dockerfile) stage(name string) (stage, string) {
	for k := len(d.stages) - 1; k >= 0; k-- {
		if _, as := d.from(d.stages[k]); strings.EqualFold(as, name) || strconv.Itoa(k) == name {
			return d.stages[k], name
		}
	}
	return nil, ""
}

// from returns the image of a stage, and its name.
func (d *dockerfile) from(s stage) (image, as string) {
	words := strings.Fields(string(d.plain[s[0].args.from:s[0].args.to]))
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		words = words[1:]
	}
	if len(words) > 2 && strings.EqualFold(words[1], "as") {
		as = words[2]
	}
	if len(words) > 0 {
		image = words[0]
	}
	return image, as
}

var (
	goImage = regexp.MustCompile(`(^|/)(golang|go)([:@]|$)`)
	goBuild = regexp.MustCompile(`\bgo (build|install)\b`)
)

// builds says whether a stage builds with Go, or one that it begins from; depth is how many were
// followed.
func (d *dockerfile) builds(s stage, depth int) bool {
	image, _ := d.from(s)
	if goImage.MatchString(image) {
		return true
	}
	for _, i := range s {
		if i.word == "RUN" && goBuild.Match(d.plain[i.args.from:i.args.to]) {
			return true
		}
	}
	if base, _ := d.stage(image); base != nil && depth < len(d.stages) {
		return d.builds(base, depth+1)
	}
	return false
}
