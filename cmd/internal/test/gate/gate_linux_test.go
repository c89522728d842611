package gate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// program keeps memory, and needs 30% more where it says so.
const program = `package main

import "fmt"

const pages = PAGES

func main() {
	kept := make([][]byte, pages)
	for i := range kept {
		kept[i] = make([]byte, 4096)
		kept[i][0] = 1
	}
	fmt.Println(len(kept), "NOTE")
}
`

// A change of a repository: a branch, and what a gate has to say of it.
type change struct {
	branch string
	code   int
}

var changes = []change{{"larger", 1}, {"equal", 0}}

// repository makes a repository of a program with a branch for each change.
func repository(t *testing.T) string {
	repo := filepath.Join(t.TempDir(), "repo")
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	write := func(pages, note string) {
		t.Helper()
		main := strings.NewReplacer("PAGES", pages, "NOTE", note).Replace(program)
		for name, text := range map[string]string{"go.mod": "module prog\n\ngo 1.26\n", "cmd/prog/main.go": main} {
			file := filepath.Join(repo, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		run("add", "-A")
		run("commit", "-qm", note)
	}
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	run("init", "-q", "-b", "main")
	write("16384", "base")
	for branch, pages := range map[string]string{"larger": "21300", "equal": "16384"} {
		run("checkout", "-q", "-b", branch, "main")
		write(pages, branch)
	}
	return repo
}

// A checkout is a shallow clone of a branch, as CI makes it, and the base's commit.
func checkout(t *testing.T, repo, branch string) (dir, base string) {
	dir = filepath.Join(t.TempDir(), branch)
	if out, err := exec.Command("git", "clone", "-q", "--depth=1", "--branch", branch, "file://"+repo, dir).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, out)
	}
	out, err := exec.Command("git", "-C", repo, "rev-parse", "main").Output()
	if err != nil {
		t.Fatal(err)
	}
	return dir, strings.TrimSpace(string(out))
}

func folio(t *testing.T) string {
	testenv.Long(t)
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "folio"), "github.com/foliomem/folio/cmd/folio").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// block returns the literal block of YAML that follows a line, without its indentation.
func block(t *testing.T, file, after string) string {
	data, err := os.ReadFile(filepath.Join("../../../../gate", file))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(data), "\n"+after+"\n")
	if !ok {
		t.Fatalf("%s: no line %q", file, after)
	}
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var out strings.Builder
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, indent)
		if !ok && strings.TrimSpace(line) != "" {
			break
		}
		out.WriteString(rest)
	}
	return out.String()
}

// gate runs a script with the variables that the CI system sets, and returns its exit code.
func gate(t *testing.T, bin, dir, script string, shell []string, env ...string) int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.sh")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(shell[0], append(shell[1:], file)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PWD="+dir, "GOWORK=off",
		"FOLIO_PACKAGE=./cmd/prog", "FOLIO_ARGS='an argument' $HOME", "FOLIO_FLAGS=--rounds 10", "FOLIO_BUDGET=30s",
		"FOLIO_FAIL_IF=peak_rss>+10%\nfaults>+10%\n", "FOLIO_VERSION=latest")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for _, name := range []string{"folio.md", "folio.html", "folio.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	return cmd.ProcessState.ExitCode()
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The action fails where a program keeps 30% more memory, passes where it keeps the same, and
// puts the comparison into the summary of the job.
func TestGitHub(t *testing.T) {
	bin, repo, script := folio(t), repository(t), block(t, "action.yml", "      run: |")
	for _, c := range changes {
		t.Run(c.branch, func(t *testing.T) {
			dir, base := checkout(t, repo, c.branch)
			output, summary := filepath.Join(t.TempDir(), "output"), filepath.Join(t.TempDir(), "summary")
			code := gate(t, bin, dir, script, []string{"bash", "--noprofile", "--norc", "-eo", "pipefail"},
				"FOLIO_BASE="+base, "FOLIO_HEAD=HEAD", "FOLIO_INCONCLUSIVE=fail", "GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+summary)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if want := "exit-code=" + string(rune('0'+c.code)) + "\n"; read(t, output) != want {
				t.Errorf("outputs: %q, want %q", read(t, output), want)
			}
			if s := read(t, summary); !strings.Contains(s, "peak RSS") || !strings.Contains(s, "|") {
				t.Errorf("summary without a table:\n%s", s)
			}
		})
	}
}

// What cannot be decided is a warning by default, and fails the job if asked to.
func TestGitHubInconclusive(t *testing.T) {
	script := block(t, "action.yml", "      run: |")
	bin, dir := t.TempDir(), t.TempDir()
	testenv.WriteProgram(t, filepath.Join(bin, "folio"), []byte("#!/bin/sh\necho x | tee folio.md folio.html >folio.json\nexit 3\n"))
	if out, err := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", dir, "commit", "-q", "--allow-empty", "-m", "x").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for do, want := range map[string]int{"warn": 0, "fail": 3} {
		code := gate(t, bin, dir, script, []string{"bash", "--noprofile", "--norc", "-eo", "pipefail"}, "FOLIO_BASE=HEAD", "FOLIO_HEAD=HEAD",
			"FOLIO_INCONCLUSIVE="+do, "GITHUB_OUTPUT=/dev/null", "GITHUB_STEP_SUMMARY=/dev/null")
		if code != want {
			t.Errorf("%s: exit code %d, want %d", do, code, want)
		}
	}
}

// The template for GitLab decides as the action does; GitLab itself makes exit code 3 a warning.
func TestGitLab(t *testing.T) {
	bin, repo, script := folio(t), repository(t), block(t, "gitlab.yml", "    - |")+"bash folio-ab.sh\n"
	if data := read(t, "../../../../gate/gitlab.yml"); !strings.Contains(data, "\n    - bash folio-ab.sh\n") || !strings.Contains(data, "exit_codes: [3]") {
		t.Error("gitlab.yml does not run the script")
	}
	for _, c := range changes {
		t.Run(c.branch, func(t *testing.T) {
			dir, base := checkout(t, repo, c.branch)
			if code := gate(t, bin, dir, script, []string{"bash", "-eo", "pipefail"}, "FOLIO_BASE="+base, "FOLIO_HEAD=HEAD"); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
		})
	}
}
