package release

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	root    = "github.com/foliomem/folio"
	version = "v0.1.0" // that the modules require of each other
)

// modules are the directories of those that are tagged.
var modules = []string{"", "arenavet", "cmd", "cmd/fleet"}

// A user is somebody with an empty directory, and a module proxy that has the last commit as
// a version.
type user struct {
	*testing.T
	repo, dir string
	env       []string
}

func newUser(t *testing.T) *user {
	testenv.Long(t)
	repo, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	u := &user{T: t, repo: repo, dir: t.TempDir(), env: os.Environ()}
	clone, proxy := filepath.Join(u.dir, "clone"), filepath.Join(u.dir, "proxy")
	u.run(u.dir, "git", "-c", "safe.directory=*", "clone", "-q", repo, clone)
	for _, m := range modules {
		tag := strings.TrimPrefix(m+"/"+version, "/")
		u.run(clone, "git", "tag", tag)
		v := module.Version{Path: strings.TrimSuffix(root+"/"+m, "/"), Version: version}
		at := filepath.Join(proxy, v.Path, "@v", version)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := zip.CreateFromVCS(&file, v, clone, tag, m); err != nil {
			t.Fatal(err)
		}
		mod, err := os.ReadFile(filepath.Join(clone, m, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		u.write(at+".zip", file.String())
		u.write(at+".mod", string(mod))
		u.write(filepath.Join(filepath.Dir(at), "list"), version+"\n")
		u.write(at+".info", `{"Version":"`+version+`"}`)
	}
	out := u.run(u.dir, "go", "env", "GOPROXY")
	// The module cache, where the rest is, is the only one: a version of Folio must not stay.
	cache := strings.TrimSpace(u.run(u.dir, "go", "env", "GOMODCACHE"))
	u.env = append(u.env, "GOWORK=off", "GOFLAGS=-modcacherw", "GONOSUMDB="+root, "GOBIN="+filepath.Join(u.dir, "bin"),
		"GOMODCACHE="+filepath.Join(u.dir, "mod"),
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download")+","+strings.TrimSpace(out))
	return u
}

func (u *user) run(dir, name string, args ...string) string {
	u.Helper()
	var out, said bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(u.env, "PWD="+dir), &out, &said
	if err := cmd.Run(); err != nil {
		u.Fatalf("%s %q: %v\n%s%s", name, args, err, out.String(), said.String())
	}
	return out.String()
}

func (u *user) write(file, text string) {
	u.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		u.Fatal(err)
	}
}

// go install takes the command, the agent and folio-fleet by their version, and a program that
// imports all libraries has one more module than Folio's: golang.org/x/sys.
func TestFromTags(t *testing.T) {
	u := newUser(t)
	programs := []string{"cmd/folio"}
	if testenv.Full() { // client-go takes minutes to compile
		programs = append(programs, "cmd/fleet/cmd/folio-agent", "cmd/fleet/cmd/folio-fleet")
	}
	for _, program := range programs {
		u.run(u.dir, "go", "install", root+"/"+program+"@"+version)
		if out := u.run(u.dir, filepath.Join(u.dir, "bin", filepath.Base(program)), "--version"); !strings.Contains(out, version) {
			t.Errorf("%s --version: %q, want %s in it", filepath.Base(program), out, version)
		}
	}
	own := filepath.Join(u.dir, "own")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	u.write(filepath.Join(own, "go.mod"), "module own\n\ngo 1.26.0\n")
	imports := ""
	for _, p := range []string{"arena", "auto", "goheap", "gctune", "page"} {
		imports += "import _ \"" + root + "/" + p + "\"\n"
	}
	u.write(filepath.Join(own, "main.go"), "package main\n\n"+imports+"\nfunc main() {}\n")
	u.run(own, "go", "get", root+"@"+version)
	u.run(own, "go", "mod", "tidy")
	u.run(own, "go", "build", "-o", os.DevNull, ".")
	list := strings.Split(strings.TrimSpace(u.run(own, "go", "list", "-m", "-f", "{{.Path}}", "all")), "\n")
	if !slices.Equal(list, []string{"own", root, "golang.org/x/sys"}) {
		t.Errorf("go list -m all: %q", list)
	}
}

// go mod tidy leaves nothing to do, but for sums of versions that are not tagged yet.
func TestTidy(t *testing.T) {
	u := newUser(t)
	for _, m := range modules {
		cmd := exec.Command("go", "mod", "tidy", "-diff")
		cmd.Dir, cmd.Env = filepath.Join(u.dir, "clone", m), append(u.env, "PWD="+filepath.Join(u.dir, "clone", m))
		out, err := cmd.Output()
		if e, ok := err.(*exec.ExitError); err != nil && (!ok || len(out) == 0) {
			t.Errorf("%s: %v\n%s", m, err, e.Stderr)
		}
		for line := range strings.Lines(string(out)) {
			changed := strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "---")
			if changed && !strings.HasPrefix(line, "+"+root) {
				t.Errorf("%s: go mod tidy would change %s", strings.TrimPrefix(m+"/go.mod", "/"), line)
			}
		}
	}
}
