package project

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/test/testenv"
)

var heap = trial.Setting{THP: trial.THPHeap}

// directory writes the files of an archive.
func directory(t testing.TB, dir, archive string) string {
	t.Helper()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// files are the files of a directory, with their names.
func files(t testing.TB, dir string) string {
	t.Helper()
	a := &txtar.Archive{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		a.Files = append(a.Files, txtar.File{Name: filepath.ToSlash(name), Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(txtar.Format(a))
}

// must looks at a directory and writes what is planned.
func must(t testing.TB, dir string, o Options) Plan {
	t.Helper()
	p, err := Look(dir, o)
	if err == nil {
		err = p.write()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A fileCase is a project before and after, and what is said.
type fileCase struct {
	options       Options
	before, after string
	notes         []string // how they begin; nil for any
}

// check puts the setting in, twice, and takes it out.
func (c fileCase) check(t *testing.T, dir string) {
	t.Helper()
	directory(t, dir, c.before)
	before := files(t, dir)
	p := must(t, dir, c.options)
	// The order of the files in an archive does not matter.
	if got, want := files(t, dir), files(t, directory(t, t.TempDir(), c.after)); got != want {
		t.Errorf("got\n%s\nwant\n%s\nnotes: %q", got, want, p.Notes)
	}
	if c.notes != nil && len(p.Notes) != len(c.notes) {
		t.Errorf("notes: %q\nwant %q", p.Notes, c.notes)
	}
	for i, n := range c.notes {
		if i < len(p.Notes) && !strings.HasPrefix(p.Notes[i], n) {
			t.Errorf("note %q, want %q", p.Notes[i], n)
		}
	}
	again := must(t, dir, c.options)
	if len(again.Changes) > 0 || again.Set != p.Set {
		t.Errorf("again: %d places for %d, and\n%s", again.Set, p.Set, again.diff())
	}
	must(t, dir, Options{Remove: true})
	if got := files(t, dir); got != before {
		t.Errorf("after removal\n%s\nwant\n%s", got, before)
	}
	if out := must(t, dir, Options{Remove: true}); len(out.Changes) > 0 {
		t.Errorf("removed again: %s", out.diff())
	}
}

// crlf has an archive's files end their lines as Windows does.
func crlf(archive string) string {
	a := txtar.Parse([]byte(archive))
	for i := range a.Files {
		a.Files[i].Data = bytes.ReplaceAll(a.Files[i].Data, []byte("\n"), []byte("\r\n"))
	}
	return string(txtar.Format(a))
}

// goProgram makes a program of this test's own file.
func goProgram(t testing.TB, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Link(self, path) == nil {
		return
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

func TestEnvironment(t *testing.T) {
	set := Options{Setting: trial.Setting{GOGC: "400", MemLimit: 2 << 30, THP: trial.THPHeap}}
	for name, c := range map[string]fileCase{
		"CI":                {set, "-- .gitlab-ci.yml --\na: b\n", "-- .gitlab-ci.yml --\na: b\n-- .folio.env --\nGOGC=400\nGOMEMLIMIT=2GiB\n", []string{".folio.env: "}},
		"lines of the user": {set, "-- .folio.env --\nA=b\n#c", "-- .folio.env --\nGOGC=400\nGOMEMLIMIT=2GiB\nA=b\n#c\n", nil},
		"no variables":      {Options{Setting: heap}, "-- Jenkinsfile --\nx\n", "-- Jenkinsfile --\nx\n", []string{}},
		"no CI":             {set, "-- x --\n", "-- x --\n", []string{}},
	} {
		t.Run(name, func(t *testing.T) { c.check(t, t.TempDir()) })
	}
	// Other settings take the place of the old ones.
	dir := directory(t, t.TempDir(), "-- .travis.yml --\n-- .folio.env --\nGOGC=400\nA=b\n")
	must(t, dir, Options{Setting: trial.Setting{MemLimit: 1 << 30}})
	if got, want := files(t, dir), "-- .folio.env --\nGOMEMLIMIT=1GiB\nA=b\n-- .travis.yml --\n"; got != want {
		t.Errorf("got\n%s", got)
	}
}

// applied returns what Apply says. answer is y, n, or "" where nobody can be asked.
func applied(t testing.TB, dir string, o Options, answer string) (said string, err error) {
	t.Helper()
	p, err := Look(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	printer := console.New(&out)
	err = p.Apply(printer, func(question string) (yes, asked bool) {
		_, _ = printer.Write([]byte(question + "\n"))
		return answer == "y", answer != ""
	})
	return strings.ReplaceAll(filepath.ToSlash(out.String()), filepath.ToSlash(dir), "DIR"), errors.Join(err, printer.Flush())
}

func TestApply(t *testing.T) {
	dir := t.TempDir()
	if said, err := applied(t, dir, Options{Setting: heap}, "y"); err == nil || said != "" || !strings.HasPrefix(err.Error(), dir+": found nothing to change; looked for scripts of package.json") {
		t.Errorf("%q, %v", said, err)
	}
	if said, err := applied(t, dir, Options{Remove: true}, "y"); err != nil || said != "DIR: nothing to remove\n" {
		t.Errorf("%q, %v", said, err)
	}
	const before = "-- Dockerfile --\nFROM golang\nCMD [\"a\"]\n"
	directory(t, dir, before)
	const note = "Dockerfile:2: CMD: a is taken for a Go program: its stage builds with Go\n"
	const shown = note + `--- a/Dockerfile
+++ b/Dockerfile
@@ -1,2 +1,5 @@
 FROM golang
-CMD ["a"]
+# BEGIN folio init
+COPY --from=i /folio /usr/local/bin/folio
+# END folio init
+CMD ["folio", "exec", "--thp", "heap", "--", "a"]
Change 1 file?
`
	for _, step := range []struct{ answer, want string }{
		{"", shown + "Nothing is written yet: --yes changes 1 file.\n"},
		{"n", shown + "Nothing is written.\n"},
		{"y", shown + "Changed: DIR/Dockerfile\n"},
		{"y", note + "DIR: nothing to change: the setting is there\n"},
	} {
		if step.want != note+"DIR: nothing to change: the setting is there\n" && files(t, dir) != before {
			t.Fatalf("before %q:\n%s", step.want, files(t, dir))
		}
		said, err := applied(t, dir, Options{Setting: heap, Image: "i"}, step.answer)
		if err != nil || said != step.want {
			t.Errorf("%v, got\n%s\nwant\n%s", err, said, step.want)
		}
	}
}

// Mistakes are found before anything is looked for.
func TestRefused(t *testing.T) {
	dir := directory(t, t.TempDir(), "-- file --\n")
	for want, c := range map[string]struct {
		dir string
		o   Options
	}{
		"no such file or directory":         {filepath.Join(dir, "none"), Options{Setting: heap}},
		"file: not a directory":             {filepath.Join(dir, "file"), Options{Setting: heap}},
		"no setting to write":               {dir, Options{}},
		"GOGC=200%: ":                       {dir, Options{Setting: trial.Setting{GOGC: "200%"}}},
		`--image "a b": not the name of an`: {dir, Options{Setting: heap, Image: "a b"}},
	} {
		if p, err := Look(c.dir, c.o); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, %v; want %s", p, err, want)
		}
	}
}

// All kinds of files in one project, and a write that fails for the last one changes none.
func TestWriteIsAllOrNothing(t *testing.T) {
	archive := "-- go.mod --\nmodule x\n-- a.service --\n[Service]\nExecStart=/opt/none/a\n-- Dockerfile --\nFROM golang\nCMD [\"a\"]\n-- .travis.yml --\n"
	o := Options{Setting: trial.Setting{THP: trial.THPHeap, GOGC: "400"}, Image: "i"}
	for name, break_ := range map[string]func(dir string, p *Plan){
		"changed meanwhile": func(dir string, p *Plan) { directory(t, dir, "-- .folio.env --\nnew\n") },
		"gone":              func(dir string, p *Plan) { p.Changes[2].Path = filepath.Join(dir, "none", "deep", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := directory(t, t.TempDir(), archive)
			p, err := Look(dir, o)
			if err != nil || len(p.Changes) != 3 {
				t.Fatalf("%d changes, %v", len(p.Changes), err)
			}
			break_(dir, &p)
			before := files(t, dir)
			err = p.write()
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if got := files(t, dir); got != before {
				t.Errorf("got\n%s\nwant\n%s", got, before)
			}
			if _, err := os.Stat(filepath.Join(dir, "a.service.d")); err == nil {
				t.Error("a directory is left")
			}
		})
	}
}

// A commit that fails after others takes those back.
func TestWriteTakesBack(t *testing.T) {
	dir := directory(t, t.TempDir(), "-- a --\nold\n-- b --\nold\n")
	p := Plan{Changes: []Change{
		{filepath.Join(dir, "a"), []byte("old\n"), []byte("new\n")},
		{filepath.Join(dir, "c", "c"), nil, []byte("new\n")},
		{filepath.Join(dir, "b"), []byte("old\n"), nil},
	}}
	var all []*writing
	for _, c := range p.Changes {
		w := &writing{Change: c}
		if err := w.prepare(); err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	for _, w := range all {
		if err := w.commit(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := files(t, filepath.Join(dir, "c")), "-- c --\nnew\n"; got != want {
		t.Errorf("%s", got)
	}
	for _, w := range all {
		w.end(true)
	}
	if got, want := files(t, dir), "-- a --\nold\n-- b --\nold\n"; got != want {
		t.Errorf("got\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "c")); err == nil {
		t.Error("a directory is left")
	}
}

// Modes are kept, and links are followed.
func TestWriteKeepsModeAndLink(t *testing.T) {
	dir := directory(t, t.TempDir(), "-- real --\nFROM golang\nCMD [\"a\"]\n")
	if err := os.Chmod(filepath.Join(dir, "real"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "Dockerfile")); err != nil {
		testenv.Missing(t, "a symbolic link: %v", err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "Containerfile")); err != nil { // one change, not two
		t.Fatal(err)
	}
	if p := must(t, dir, Options{Setting: heap, Image: "i"}); len(p.Changes) != 1 {
		t.Errorf("%s", p.diff())
	}
	info, err := os.Lstat(filepath.Join(dir, "Dockerfile"))
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	info, err = os.Lstat(filepath.Join(dir, "real"))
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "real")); !strings.Contains(string(data), "COPY --from=i /folio") {
		t.Errorf("%s", data)
	}
}
