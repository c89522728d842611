package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result/suggest"
)

// RedactedText says what a result lacks that --redact was given for.
const RedactedText = "redacted: arguments, directories, values of the environment, cgroups, users and the host are left out"

// left stands for what was left out.
const left = "..."

// Redacted returns a copy of a result without what says who ran it, where and on what
// data: arguments, directories, values of environment variables that are not settings of
// the Go runtime or Folio, cgroups, users, command lines, source lines and the name of
// the host. The names of programs, functions, source files, benchmarks and metrics stay.
func Redacted[F interface{ JSON() ([]byte, error) }](f F) (F, error) {
	data, err := f.JSON()
	if err != nil {
		return f, err
	}
	out := reflect.New(reflect.TypeOf(f).Elem())
	if err := json.Unmarshal(data, out.Interface()); err != nil {
		return f, fmt.Errorf("redact the result: %w", err)
	}
	redact(out)
	return out.Interface().(F), nil
}

// Redact does to a result that was read what [Redacted] does.
func (r *Result) Redact() (err error) {
	redact(reflect.ValueOf(r.Of))
	r.JSON, err = r.Of.JSON()
	r.Name = path.Base(strings.ReplaceAll(r.Name, `\`, "/"))
	return err
}

// redact leaves out of a result, a pointer to one of its types, what Redacted says.
func redact(v reflect.Value) {
	r := &redactor{names: make(map[string]string)}
	r.learn(v.Interface())
	r.walk(v, "")
	switch f := v.Interface().(type) {
	case *File:
		for i := range f.Recommendations {
			if rec := &f.Recommendations[i]; rec.ShellLine != "" {
				rec.ShellLine = f.Program.Line(rec.Setting.Trial())
			}
		}
	}
	v.Elem().FieldByName("Redacted").SetBool(true)
}

// A redactor knows what must not be in a result.
type redactor struct {
	secrets map[string]string // by what stands for them
	longest []string          // the secrets, the longest first
	names   map[string]string // new ones: of arms, which may have variables in them, and of servers
}

// treatments say what a redacted text has, by the tag redact of its field. A text without
// one is left out; a test says so when a field is added. Lists and maps are treated entry
// by entry, but for commands.
var treatments = map[string]func(r *redactor, s string) string{
	// Words of Folio, the Go runtime and the kernel, and names that --redact keeps.
	"keep":  func(_ *redactor, s string) string { return s },
	"drop":  func(_ *redactor, _ string) string { return "" },
	"blank": func(_ *redactor, s string) string { return orBlank(s) },
	"file":  func(_ *redactor, s string) string { return base(s) },
	"prose": (*redactor).prose,
	"line":  (*redactor).line,
	"env":   func(_ *redactor, s string) string { return redactedEnv(s) },
	"named": (*redactor).name,
	"built": func(_ *redactor, s string) string { return "./" + base(s) },
	// How a build has a profile.
	"profiled": func(_ *redactor, s string) string { return redactedProfile(s) },
	"command":  func(_ *redactor, s string) string { return program(s) }, // of a single word: walk does lists
	"kernel":   func(_ *redactor, s string) string { return versionOf(s) },
	"sketch":   func(_ *redactor, _ string) string { return suggest.AnySketch },
}

// walk treats all texts that v reaches. how is the treatment of the field that v is in.
func (r *redactor) walk(v reflect.Value, how string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if to := v.Elem(); to.Kind() == reflect.String && to.Len() > 0 && r.treat(to.String(), how) == "" {
			v.SetZero() // what is left out of a text that may be null is null
			return
		}
		r.walk(v.Elem(), how)
	case reflect.Struct:
		t := v.Type()
		if t.PkgPath() == "time" {
			return
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				r.walk(v.Field(i), f.Tag.Get("redact"))
			}
		}
	case reflect.Slice, reflect.Array:
		if words, ok := v.Interface().([]string); ok && len(words) > 0 && how == "command" {
			v.Set(reflect.ValueOf(redactedCommand(words)))
			return
		}
		n := 0
		for i := range v.Len() {
			entry := v.Index(i)
			text := entry.Kind() == reflect.String && entry.Len() > 0
			r.walk(entry, how)
			if text && entry.Len() == 0 {
				continue
			}
			if n < i {
				v.Index(n).Set(entry)
			}
			n++
		}
		if v.Kind() == reflect.Slice && n < v.Len() {
			v.SetLen(n)
		}
	case reflect.Map:
		// Keys are names of figures, classes, benchmarks and metrics, and reasons of the kernel.
		for _, k := range v.MapKeys() {
			to := reflect.New(v.Type().Elem()).Elem()
			to.Set(v.MapIndex(k))
			r.walk(to, how)
			v.SetMapIndex(k, to)
		}
	case reflect.String:
		v.SetString(r.treat(v.String(), how))
	}
}

// treat returns what stays of a text: nothing where its field says nothing.
func (r *redactor) treat(s, how string) string {
	if do := treatments[how]; do != nil && s != "" {
		return do(r, s)
	}
	return ""
}

// learn gathers what sentences of a result may repeat: words of commands, values of
// variables, and names that have these in them.
func (r *redactor) learn(f any) {
	r.secrets = make(map[string]string)
	switch f := f.(type) {
	case *File:
		r.program(f.Program)
		for i := range f.Arms {
			a := &f.Arms[i]
			r.variables(a.Setting.Env)
			set := a.Setting.Trial()
			set.Env = redactedEnvs(set.Env)
			if b := &set.Build; redactedProfile(b.PGO) != b.PGO {
				r.add(b.PGO, left)
				b.PGO = left
			}
			if a.Name == a.Setting.Trial().String() { // of other names, prose makes new ones
				r.names[a.Name] = set.String()
			}
		}
		for _, rec := range f.Recommendations {
			r.add(rec.ShellLine, left)
		}
	case *AB:
		used := make(map[string]int)
		r.variables(f.Setting.Env)
		r.add(f.Input, left)
		for i := range f.Arms {
			a := &f.Arms[i]
			r.program(a.Program)
			r.variables(a.Env)
			own := a.own()
			own.Env = redactedEnvs(own.Env)
			name := a.line(own, []string{base(program(first(a.Program.Command)))})
			if a.Source != nil {
				r.add(a.Source.Revision, short(a.Source.Commit))
				name = short(a.Source.Commit)
				if a.Source.Dirty {
					name = "changed"
				}
			}
			if used[name]++; used[name] > 1 {
				name += fmt.Sprintf(" (%d)", used[name])
			}
			r.names[a.Name] = name
		}
	case *Inspect:
		if f.Process != nil {
			r.process(&f.Process.ProcessID)
		}
		if f.Processes != nil {
			for i := range *f.Processes {
				r.process(&(*f.Processes)[i].ProcessID)
			}
		}
	case *Doctor:
		if p := f.Process; p != nil {
			r.command(p.Command)
			p.Name = processName(p.Command, p.Name)
		}
	case *Suggest:
		r.command(f.Command)
		if f.Profile != nil {
			r.add(*f.Profile, left)
		}
	case *Load:
		r.servers(f.Settings.URLs)
	case *Sites:
		r.command(f.Command)
	case *Charge:
		for i := range f.Processes {
			r.process(&f.Processes[i].ProcessID)
		}
		for _, p := range f.Parts {
			for _, of := range p.Of {
				r.add(of.Name, left)
			}
		}
	case *Collapse:
		r.command(f.Command)
		f.Name = processName(f.Command, f.Name)
	}
	for old, name := range r.names {
		r.add(old, name)
	}
	r.longest = slices.SortedFunc(maps.Keys(r.secrets), func(a, b string) int { return len(b) - len(a) })
}

func (r *redactor) process(p *ProcessID) {
	r.command(p.Command)
	p.Name, p.UID = processName(p.Command, p.Name), nil
}

func (r *redactor) program(p Program) {
	r.command(p.Command)
	for _, s := range []string{p.Input, p.Ready, p.Load} {
		r.add(s, left)
	}
	if p.Requests != nil {
		r.servers(p.Requests.URLs)
	}
	if p.Build != nil {
		r.add(p.Build.Package, "./"+base(p.Build.Package))
	}
}

// servers learns the addresses of servers.
func (r *redactor) servers(urls []string) {
	for i, s := range urls {
		r.names[s] = loadName(i)
		if u, err := url.Parse(s); err == nil {
			r.add(u.Host, "HOST:PORT")
		}
	}
}

// command learns the words of a command, alone and as a shell line.
func (r *redactor) command(words []string) {
	if len(words) == 0 {
		return
	}
	to := redactedCommand(words)
	r.add(ShellLine(words), ShellLine(to))
	r.add(strings.Join(words, " "), strings.Join(to, " "))
	r.add(words[0], to[0])
	for _, w := range words[1:] {
		r.word(w)
		if _, value, ok := strings.Cut(w, "="); ok {
			r.word(value)
		}
	}
}

func (r *redactor) variables(env []string) {
	for _, kv := range env {
		if to := redactedEnv(kv); to != kv {
			_, value, _ := strings.Cut(kv, "=")
			r.add(Quote(kv), to)
			r.word(value)
		}
	}
}

// goWords are arguments that say nothing, and that sentences have.
var goWords = []string{"test", "run", "build", "bench", "default", "off"}

// word learns a word that sentences may repeat. Short ones and numbers would be found in
// words and figures of Folio's own.
func (r *redactor) word(w string) {
	if len(w) >= 3 && strings.Trim(w, "0123456789.,-") != "" && !slices.Contains(goWords, w) {
		r.add(w, left)
	}
}

// add learns what stands for a secret. What stands for itself is not a path that is to be
// left out.
func (r *redactor) add(secret, stand string) {
	if len(secret) >= 3 && secret != left {
		r.secrets[secret], r.secrets[Quote(secret)] = stand, stand
	}
}

// name returns the new name of an arm, or of a server.
func (r *redactor) name(s string) string {
	if to, ok := r.names[s]; ok {
		return to
	}
	return r.prose(s)
}
