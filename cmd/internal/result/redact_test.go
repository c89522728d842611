package result_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// kinds are a result of each type that there is, empty.
func kinds() []any {
	return []any{new(result.File), new(result.AB), new(result.Lab), new(result.Inspect), new(result.Doctor), new(result.Suggest), new(result.Collapse),
		new(result.Load), new(result.Sites), new(result.Charge)}
}

// texts calls f with the name of each field of a type, its tag redact, and whether it holds
// texts.
func texts(t reflect.Type, field, how string, seen map[reflect.Type]bool, f func(field, how string, text bool)) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map: // the keys of maps stay
		texts(t.Elem(), field, how, seen, f)
	case reflect.Struct:
		f(field, how, false)
		if seen[t] || t == reflect.TypeFor[time.Time]() {
			return
		}
		seen[t] = true
		for i := range t.NumField() {
			if x := t.Field(i); x.IsExported() && x.Tag.Get("json") != "-" {
				texts(x.Type, t.String()+"."+x.Name, x.Tag.Get("redact"), seen, f)
			}
		}
	default:
		f(field, how, t.Kind() == reflect.String || t.Kind() == reflect.Interface)
	}
}

// Every text of every result has a tag that says what --redact does to it, and nothing
// else has one.
func TestRedactKnowsEveryField(t *testing.T) {
	seen := make(map[reflect.Type]bool)
	for _, k := range kinds() {
		texts(reflect.TypeOf(k), "", "", seen, func(field, how string, text bool) {
			if text && !result.Treated(how) || !text && how != "" {
				t.Errorf("%s: tag redact is %q, and it holds texts: %v", field, how, text)
			}
		})
	}
}

// marker is in every text that could say who, where, or with what.
const marker = "MARKER"

// secret is what a text holds, by what becomes of it.
func secret(how string) string {
	switch how {
	case "keep":
		return "kept"
	case "env":
		return "TOKEN=" + marker
	case "command":
		return "/home/" + marker + "/bin/prog"
	case "kernel":
		return "6.18.0-" + marker
	case "file", "built":
		return "/home/" + marker + "/src/main.go"
	}
	return "in /home/" + marker + "/x, ~/" + marker + ", ../" + marker + "/y and 0::/" + marker + ".slice of https://" + marker +
		".example/?q=1: TOKEN=" + marker + ": exit code 3: " + marker + " was printed"
}

// fill gives every text that v reaches its secret, and every list and pointer something.
func fill(v reflect.Value, how string, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), how, depth+1)
	case reflect.Slice:
		n := 1
		if how == "command" {
			n = 3
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(v.Index(i), how, depth+1)
		}
		if n == 3 {
			v.Index(1).SetString("--flag=" + marker + "1")
			v.Index(2).SetString(marker + " 2")
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), how, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		to := reflect.New(v.Type().Elem()).Elem()
		fill(to, how, depth+1)
		v.SetMapIndex(reflect.ValueOf("wall_seconds").Convert(v.Type().Key()), to)
	case reflect.String:
		v.SetString(secret(how))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			if x := v.Type().Field(i); x.IsExported() && x.Tag.Get("json") != "-" {
				fill(v.Field(i), x.Tag.Get("redact"), depth+1)
			}
		}
	}
}

// firstOther is where two texts begin to differ.
func firstOther(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-60):min(i+60, len(a))] + " for " + b[max(0, i-60):min(i+60, len(b))]
}

// repeat has the notes of a result repeat its command.
func repeat(v reflect.Value) {
	notes := v.Elem().FieldByName("Notes")
	if kind := v.Elem().Type().Name(); kind == "Lab" || kind == "Load" || !notes.IsValid() { // they have no command
		return
	}
	notes.Index(0).SetString("/home/" + marker + "/bin/prog --flag=" + marker + "1 '" + marker + " 2' ended; so did prog --flag=" + marker + "1 of " + marker + "1")
}

// redacted is what --redact makes of a copy of a result.
func redacted(t *testing.T, f any) any {
	t.Helper()
	to := reflect.New(reflect.TypeOf(f).Elem())
	if err := json.Unmarshal([]byte(textOf(t, f)), to.Interface()); err != nil {
		t.Fatal(err)
	}
	r := result.Result{Of: to.Interface().(result.Kind)}
	if err := r.Redact(); err != nil || !strings.Contains(string(r.JSON), `"redacted": true`) {
		t.Fatalf("%T: %v, %.200s", f, err, r.JSON)
	}
	return to.Interface()
}

func textOf(t *testing.T, f any) string {
	t.Helper()
	data, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Of a result with a marker in every text that could hold a secret, none stays; the
// names that are kept do; and it is the same when it is done again.
func TestRedactLeavesNoMarker(t *testing.T) {
	for _, f := range kinds() {
		fill(reflect.ValueOf(f).Elem(), "", 0)
		repeat(reflect.ValueOf(f))
		if before := textOf(t, f); strings.Count(before, marker) < 5 {
			t.Fatalf("%T has %d markers", f, strings.Count(before, marker))
		}
		once := redacted(t, f)
		text := textOf(t, once)
		for l := range strings.Lines(text) {
			if strings.Contains(l, marker) {
				t.Errorf("%T still has %s", f, strings.TrimSpace(l))
			}
		}
		if !strings.Contains(text, `"redacted": true`) {
			t.Errorf("%T does not say that it is redacted: %.400s", f, text)
		}
		if again := textOf(t, redacted(t, once)); again != text {
			t.Errorf("%T is another one when it is redacted twice: %s", f, firstOther(again, text))
		}
	}
}

// What a result is for stays: settings, figures, names of functions and programs, and
// lines to paste, with a placeholder.
func TestRedactKeepsTheAnswer(t *testing.T) {
	set := result.NewSetting(trial.Setting{GOGC: "400", Env: []string{"TOKEN=s3cr3t", "GODEBUG=madvdontneed=1"}})
	plain := result.NewSetting(trial.Setting{Env: []string{"TOKEN=s3cr3t", "GODEBUG=madvdontneed=1"}})
	command := []string{"/srv/acme/bin/prog", "-in", "/data/customers.csv", "-n", "5"}
	f := &result.File{Header: result.NewHeader(result.Schema, result.KindTune, "v1"),
		Host:    host.Info{Name: "db7.acme.example", Kernel: "6.18.0-acme-1", CPU: "Some CPU", OS: "linux"},
		Program: result.Program{Command: command, Module: new("git.acme.example/team/prog"), Input: "/data/in"},
		Error:   "the command worked once and then failed in every run: exit code 3: no customer Smith",
		Notes: []string{"GOMEMLIMIT=512MiB was not tried: /srv/acme/bin/prog -in /data/customers.csv -n 5 ended; see /sys/kernel/mm/transparent_hugepage/enabled " +
			"and https://go.dev/doc/gc-guide; 5 runs, sec/op, and/or"},
		Arms: []result.Arm{
			{Name: plain.Trial().String(), Setting: plain, Samples: []*trial.Sample{{Failure: "exit code 3", Listening: []string{"10.1.2.3:80"},
				Profile: &profile.Result{Sites: []profile.Site{{Func: "main.build", File: "/home/bob/src/main.go", Line: 3}}}}}},
			{Name: set.Trial().String(), Setting: set},
		},
		Recommendations: []result.Recommendation{{Goal: "fastest", Arm: set.Trial().String(), Setting: set, ShellLine: set.Trial().Line(command),
			Tied: []string{plain.Trial().String()}}},
	}
	got, err := result.Redacted(f)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %q, want %q", what, got, want)
		}
	}
	check("the command", strings.Join(got.Program.Command, " "), "./prog ...")
	check("the line", got.Recommendations[0].ShellLine, "GOGC=400 TOKEN=... GODEBUG=madvdontneed=1 ./prog ...")
	check("the arm", got.Arms[1].Name, "GOGC=400 TOKEN=... GODEBUG=madvdontneed=1")
	check("the recommended arm", got.Recommendations[0].Arm, got.Arms[1].Name)
	check("the tied arm", got.Recommendations[0].Tied[0], got.Arms[0].Name)
	check("the error", got.Error, "the command worked once and then failed in every run: exit code 3")
	check("the note", got.Notes[0], "GOMEMLIMIT=512MiB was not tried: ./prog ... ended; see /sys/kernel/mm/transparent_hugepage/enabled "+
		"and https://go.dev/doc/gc-guide; 5 runs, sec/op, and/or")
	check("the host", textOf(t, got.Host.Name+got.Host.Kernel+got.Host.CPU), `"6.18.0Some CPU"`)
	check("the site", got.Arms[0].Samples[0].Profile.Sites[0].File+" "+got.Arms[0].Samples[0].Profile.Sites[0].Func, "main.go main.build")
	check("the module", *got.Program.Module, "prog")
	if len(got.Arms[0].Samples[0].Listening) != 0 || got.Program.Input != "..." {
		t.Errorf("addresses %q, input %q", got.Arms[0].Samples[0].Listening, got.Program.Input)
	}
	if textOf(t, f) == textOf(t, got) || f.Program.Input != "/data/in" || f.Redacted {
		t.Error("the result itself was changed")
	}
	for _, never := range []string{"acme", "s3cr3t", "customer", "bob", "/data", "10.1.2.3"} {
		if strings.Contains(textOf(t, got), never) {
			t.Errorf("the result still has %q", never)
		}
	}
}

// Programs that ab compares keep names that tell them apart.
func TestRedactAB(t *testing.T) {
	f := &result.AB{Header: result.NewHeader(result.Schema, result.KindAB, "v1"), Arms: []result.ABArm{
		{Name: "K=secret1 prog", Env: []string{"K=secret1"}, Program: result.Program{Command: []string{"/a/prog", "x"}}},
		{Name: "K=secret2 prog", Env: []string{"K=secret2"}, Program: result.Program{Command: []string{"/b/prog", "x"}}},
		{Name: "branch-of-bob", Source: &result.Source{Revision: "branch-of-bob", Commit: "0123456789abcdef", Package: "./cmd/x"},
			Program: result.Program{Command: []string{"x.test"}}},
	}, Notes: []string{"branch-of-bob is not HEAD"}}
	got, err := result.Redacted(f)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range got.Arms {
		names = append(names, a.Name)
	}
	if want := []string{"K=... prog", "K=... prog (2)", "0123456789ab"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if got.Notes[0] != "0123456789ab is not HEAD" || got.Arms[2].Source.Revision != "..." {
		t.Errorf("note %q, revision %q", got.Notes[0], got.Arms[2].Source.Revision)
	}
}

// A process that writes its own title keeps its program's name.
func TestRedactTitles(t *testing.T) {
	for command, want := range map[string]string{
		"/home/bob smith/bin/prog":              "prog",
		"/usr/sbin/foo -c /etc/bob.conf":        "foo",
		"nginx: master process /usr/sbin/nginx": "nginx",
		"postgres: bob sales [local] SELECT":    "postgres",
		"go":                                    "go",
	} {
		f := result.NewInspect("v1")
		f.Kind, f.Process = result.KindProcess, &result.Process{ProcessID: result.ProcessID{PID: 7, Command: []string{command, "bob"}, Name: "worker-of-bob", UID: new(1000)}}
		got, err := result.Redacted(f)
		if err != nil {
			t.Fatal(err)
		}
		p := got.Process
		if p.Name != want || strings.TrimPrefix(p.Command[0], "./") != want || p.Command[1] != "..." || p.UID != nil || p.PID != 7 {
			t.Errorf("%q is %q, %q, user %v", command, p.Name, p.Command, p.UID)
		}
	}
}

// Files in the Go benchmark format keep benchmarks, system and settings.
func TestRedactBench(t *testing.T) {
	got := string(result.RedactBench([]byte("goos: linux\npkg: git.acme.example/team/prog\ncpu: Some CPU\nhost: db7\nnote: bob\nPASS\n" +
		"Unit x better=higher\nBenchmarkA-8 1 5 ns/op\nok  \tgit.acme.example/team/prog\t1s\n")))
	if want := "goos: linux\npkg: prog\ncpu: Some CPU\nUnit x better=higher\nBenchmarkA-8 1 5 ns/op\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
