//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/test/testenv"
)

// An example is a command line that a reader may copy.
type example struct{ where, line string }

// notRun are the examples that are not run here, each with its reason. Keep it short.
var notRun = []struct {
	pattern, reason string
	seen            bool
}{
	{pattern: `setcap`, reason: "gives a file of the reader's capabilities for good"},
	{pattern: `folio (agent|fleet)\b`, reason: "a program of the module fleet, which has tests of its own"},
	{pattern: `folio inspect --(heap|diff|goroutines)`, reason: "needs a process with a heap profile; tests of cmd/internal/program/callsite read such"},
	{pattern: `folio build --verify`, reason: "takes minutes; the tests of cmd/internal/program/overlay run it"},
	{pattern: `folio lab( --quick)?$`, reason: "takes a minute; the examples of its experiments run"},
	{pattern: `folio lab .*(index|malloc|assist|stall)`, reason: "takes minutes, on builds of patched standard libraries or on fragmenting memory; tests of the lab have smaller ones"},
}

// reductions make an example one that ends within seconds, on what the test has
// prepared: processes, files and programs of those names.
var reductions = []struct {
	from, to string
	seen     bool
}{
	{from: `^sudo `, to: ""},
	{from: `^git clone https://github\.com/foliomem/folio && cd folio$`, to: "true"}, // tests need no network
	{from: `^systemd-run --user --scope -p Delegate=yes `, to: ""},
	{from: `\bgo run \./cmd/folio\b`, to: "folio"},
	{from: `\b(1234|4242)\b`, to: "$$PID"},
	{from: `\b8080\b`, to: "$$PORT"},
	{from: `/tmp/(loadgen|jsonserver)`, to: "./$1"},
	{from: `/tmp/server\.huge`, to: "./another.huge"},
	{from: `folio reference /tmp`, to: "folio reference ."},
	{from: `--go go[0-9.]+,go[0-9.]+`, to: "--go " + runtime.Version()},        // as by default: scripts have others
	{from: `^folio cache clean`, to: "XDG_CACHE_HOME=$$PWD folio cache clean"}, // not the user's
	{from: `--duration [0-9]+[smh]`, to: "--duration 300ms"},
	{from: `--for [0-9]+m`, to: "--for 300ms"},
	{from: `(folio set .*)--name server`, to: "$1--name gcprog"}, // the processes to look at
	{from: `folio leaks \$PID`, to: "folio leaks --duration 300ms $$PID"},
	{from: `(folio load .*|--ready \S+ )--rate [0-9]+`, to: "$1--rate 50"},
	{from: `'folio load --rate 50 `, to: "'folio load --rate 400 "}, // of 15 requests there is no p99
	{from: ` --load-duration [0-9]+s`, to: ""},
	{from: `(--ready \S+ --rate 50)`, to: "$1 --load-duration 200ms --load-warmup 100ms"},
	{from: `(folio load .*)--warmup [0-9]+s`, to: "$1--warmup 100ms"},
	{from: `^((for .*|taskset .*)?folio load .*)$`, to: "./server & until ./loadgen >/dev/null 2>&1; do sleep 0.1; done; $1; s=$$?; kill $$!; wait $$!; exit $$s"},
	{from: `^(folio exec .*\./server.*)$`, to: "timeout --preserve-status -s TERM 1 $1"}, // it becomes the server, which ends well at TERM
	{from: `^(folio set --watch .*)$`, to: "timeout --foreground --preserve-status -s INT 1 $1"},
	{from: `(folio (?:inspect|collapse|doctor) .*)--watch(=\w+)?`, to: "timeout --foreground --preserve-status -s INT 2 $1--watch=50ms"},
	{from: `(folio inspect .*)--cgroup orders\.service`, to: "$1--cgroup $$PID"},
	{from: `--save /var/tmp`, to: "--save ."},
	{from: `(folio inspect .*)/sys/fs/cgroup/system\.slice/orders\.service`, to: "$1$$PID"},
	{from: `(folio inspect --oom .*?)( &)?$`, to: "timeout --foreground --preserve-status -s INT 1 $1"},
	{from: `folio init --from tune\.json`, to: "folio init --gogc 400"}, // it recommends the default
	{from: `^(folio tune --attach) \$PID((?: --(?:max-rss|html|json) \S+)*)( --(?:metric|max-p99|max-errors|rate|target) \S+)*( #.*)?$`,
		to: "gcprog -alloc 8 -churn -sleep 1h -pidfile busy & until [ -s busy ]; do sleep 0.05; done; $1 $$(cat busy) --block 60ms$2; s=$$?; kill -9 $$!; rm busy; exit $$s"}, // a process at work
	{from: `\bfolio tune `, to: "folio tune --rounds 1 --budget 5m "},
	{from: `--budget 5m (.*--rate )`, to: "--budget 1m $1"}, // each run takes a second; on a slow machine there is room for all of one round
	{from: `(folio ab.*) --budget [0-9]+s`, to: "$1"},
	{from: `\bfolio ab `, to: "folio ab --rounds 6 --budget 20s "},
	{from: `\bgo test -bench`, to: "go test -benchtime 10x -bench"},
	{from: `\bgo test -run '\^\$' -bench`, to: "go test -run '^$$' -benchtime 10x -bench"},
	{from: `(folio lab.*) --quick`, to: "$1"},
	{from: `(folio lab.*) --rounds [0-9]+`, to: "$1"},
	{from: `(folio lab.*) --size [0-9]+MiB`, to: "$1"},
	{from: `\bfolio lab( --| \w|$$)`, to: "folio lab --quick --rounds 1 --size 4MiB$1"},
	{from: `folio lab --quick --rounds 1 --size 4MiB list`, to: "folio lab list"},
	{from: `go1\.25\.5`, to: runtime.Version()},
	{from: `GOROOT\)/src/net"`, to: `GOROOT)/src/net/url"`},
	{from: `'Insert\|Delete' \./btree`, to: "Insert ./pkg"}, // the same search of another benchmark
	{from: `npx tsc -p \.`, to: "sh -c ./prog"},             // what a project has installed
	{from: ` -trimpath`, to: ""},                            // which would compile a standard library of its own
}

// remark is a comment behind an example.
var remark = regexp.MustCompile(`\s+# .*$`)

// mayFail are examples whose exit code depends on the machine. The load generator of a server
// may be late, which is said then; what others find is not known before.
var mayFail = []struct{ pattern, reason *regexp.Regexp }{
	{regexp.MustCompile(`--ready \S+ --rate`), regexp.MustCompile(`generator was late`)},
	{regexp.MustCompile(`doctor --strict|ab .*--fail-if|lab .*--allow-system`), regexp.MustCompile(``)},
}

// Every example of the help texts, README.md, docs and package documentation runs, in
// a smaller form: a copy of it must not be the reader's first failure.
func TestExamples(t *testing.T) {
	testenv.FullOnly(t)
	t.Parallel()
	done := make(map[string]bool)
	count, skipped := 0, 0
	// Those of a document run in order, in one world, beside those of others. Which world
	// is always the same: an example may need a file that one before it made.
	worlds := make([]*exampleWorld, 3)
	for i := range worlds {
		worlds[i] = newExampleWorld(t, worlds[0])
	}
	of := make(map[string]*exampleWorld)
	for _, e := range examples(t) {
		line, reason := reduced(e.line)
		if reason == "" {
			reason = missing(line)
		}
		switch {
		case reason != "":
			skipped++
			t.Logf("not run, %s: %s: %s", reason, e.where, e.line)
		case !done[remark.ReplaceAllString(line, "")]:
			done[remark.ReplaceAllString(line, "")] = true
			count++
			if of[e.where] == nil {
				of[e.where] = slices.MinFunc(worlds, func(a, b *exampleWorld) int { return len(a.lines) - len(b.lines) })
			}
			w := of[e.where]
			w.lines = append(w.lines, reducedExample{e, line})
		}
	}
	var wait sync.WaitGroup
	var system sync.RWMutex
	for _, w := range worlds {
		wait.Go(func() {
			for _, l := range w.lines {
				// It changes what others see, or finds the processes of others.
				if strings.Contains(l.line, "--allow-system") || strings.Contains(l.line, "--name ") {
					system.Lock()
					w.run(t, l.example, l.line)
					system.Unlock()
					continue
				}
				system.RLock()
				w.run(t, l.example, l.line)
				system.RUnlock()
			}
		})
	}
	wait.Wait()
	t.Logf("%d examples ran, %d did not", count, skipped)
	for _, n := range notRun {
		if !n.seen {
			t.Errorf("no example is %s (%s): take it off the list", n.pattern, n.reason)
		}
	}
	if count < 50 {
		t.Errorf("only %d examples ran: are they still found?", count)
	}
}

// reduced returns the form of an example that is run, or why none is.
func reduced(line string) (text, reason string) {
	for i, n := range notRun {
		if regexp.MustCompile(n.pattern).MatchString(line) {
			notRun[i].seen = true
			return "", n.reason
		}
	}
	for i, r := range reductions {
		short := regexp.MustCompile(r.from).ReplaceAllString(line, r.to)
		reductions[i].seen = r.seen || short != line
		line = short
	}
	if strings.Contains(line, "folio tune ") && !strings.Contains(line, "--max-rss ") && !strings.Contains(line, "--cgroup-memory ") {
		line = strings.Replace(line, "folio tune ", "folio tune --max-rss 1GiB ", 1)
	}
	return line, ""
}

// examples returns all command lines of folio that are shown to users.
func examples(t *testing.T) []example {
	t.Helper()
	var out []example
	add := func(where, line string) {
		for _, words := range shellCommands(line) {
			if _, ok := folioArgs(words); ok || strings.Contains(line, "folio)") || slices.Contains(words, "folio") {
				out = append(out, example{where, line})
				return
			}
		}
	}
	for _, f := range documents(t) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range shellLines(string(data)) {
			add(filepath.Base(f), l)
		}
	}
	root := newRoot(&app{stdout: console.New(io.Discard), stderr: console.New(io.Discard)})
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		for _, l := range strings.Split(cmd.Long+"\n"+cmd.Example, "\n") {
			if strings.HasPrefix(l, "  ") {
				if cmd == root {
					l, _, _ = strings.Cut(l, "    ") // an explanation follows
				}
				add("help of "+cmd.Name(), strings.TrimSpace(l))
			}
		}
	}
	for _, dir := range []string{"arena", "arenavet", "auto", "gctune", "goheap", "page", "cmd/folio"} {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %d files", dir, err, len(files))
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^//\t(.*\bfolio\b.*)$`).FindAllStringSubmatch(string(data), -1) {
				add(dir+"/"+filepath.Base(f), m[1])
			}
		}
	}
	return out
}

// An exampleWorld is the directory that examples run in.
type exampleWorld struct {
	dir, port string
	env       []string
	lines     []reducedExample
}

type reducedExample struct {
	example
	line string // that is run
}

// newExampleWorld prepares the programs, processes and files that examples name. They are
// made for the first world, and copied for others.
func newExampleWorld(t *testing.T, first *exampleWorld) *exampleWorld {
	t.Helper()
	w := &exampleWorld{dir: filepath.Join(t.TempDir(), "demo")}
	port, err := testenv.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	w.port = port
	w.env = append(os.Environ(), "PORT="+port, "GITHUB_STEP_SUMMARY="+w.dir+"/summary.md", "PATH="+w.dir+"/bin:"+os.Getenv("PATH"))
	if first != nil {
		if out, err := exec.Command("sh", "-c", `cp -a "$0" "$1" && rm "$1/pid"`, first.dir, w.dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	} else {
		w.fill(t)
	}
	target := exec.Command("gcprog", "-alloc", "64", "-sleep", "1h", "-pidfile", w.dir+"/pid")
	target.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // of which the signal above is told
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Process.Kill(); _ = target.Wait(); runtime.UnlockOSThread() })
	if !testenv.Within(func() bool { return lines(w.dir+"/pid") == 1 }) {
		t.Fatal("the process to look at did not start")
	}
	w.env = append(w.env, "PID="+strconv.Itoa(target.Process.Pid))
	return w
}

// fill makes the programs and files.
func (w *exampleWorld) fill(t *testing.T) {
	t.Helper()
	if err := os.CopyFS(w.dir, os.DirFS("testdata/examples")); err != nil {
		t.Fatal(err)
	}
	w.sh(t, "go build -o ./ ./cmd/... && ln -s prog ecdsa-bench && ln -s server jsonserver && ln -s prog old && ln -s prog new && mkdir bin && ln -s ../prog bin/esbuild")
	w.sh(t, `mkdir -p services/api && cp go.mod services/api && printf '[Service]\nExecStart=/srv/server\n' | tee server.service >services/api/api.service`)
	w.sh(t, `git init -q -b main . && git add -A && for i in 1 2; do git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m $i; done`)
	w.sh(t, `for i in before after; do folio run --count 2 --json $i.json -- ./prog; done
		folio tune --rounds 1 --max-rss 1GiB --json tune.json -- ./prog
		folio run --count 2 --bench old.txt -- ./prog; cp old.txt new.txt; cp old.txt results.txt`)
	cmd := exec.Command("go", "build", "-o", w.dir+"/bin/", "golang.org/x/perf/cmd/benchstat")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build benchstat: %v\n%s", err, out)
	}
}

// missing says what this machine has not that an example needs.
func missing(line string) string {
	switch {
	case strings.Contains(line, "folio collapse") && !strings.Contains(line, "--dry-run") && trial.MayCollapse() != nil:
		return "needs CAP_SYS_NICE and Linux 6.1"
	case strings.Contains(line, "--cgroup-") && !mayLimit():
		return "needs cgroups that may be written"
	case strings.Contains(line, "folio set") && strings.Contains(line, "--cgroup "):
		return "needs a cgroup with nothing in it but the process to look at"
	case strings.Contains(line, "--allow-system") && os.Getuid() != 0:
		return "needs root"
	case (strings.Contains(line, "--pprof") || strings.Contains(line, "--attach")) && perf.Check() != nil:
		return "needs perf events"
	}
	return ""
}

func (w *exampleWorld) sh(t *testing.T, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir, cmd.Env = w.dir, w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// run runs an example, which must succeed.
func (w *exampleWorld) run(t *testing.T, e example, line string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	dir := w.dir
	if strings.Contains(line, "folio build") { // its program is not for the other examples
		dir = filepath.Join(t.TempDir(), "demo")
		if err := os.CopyFS(dir, os.DirFS("testdata/examples")); err != nil {
			t.Error(err)
			return
		}
	}
	script := strings.ReplaceAll(line, "$PORT", w.port) // also between single quotes
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, w.env, 10*time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	for _, m := range mayFail {
		if m.pattern.MatchString(line) && m.reason.Match(out.Bytes()) && errors.As(err, &exit) && (exit.ExitCode() == exitFailure || exit.ExitCode() == exitNoisy) {
			err = nil
		}
	}
	if err != nil {
		t.Errorf("%s: %s\nrun as: %s\n%v\n%s", e.where, e.line, line, err, out.String())
	}
	t.Logf("%.1f s: %s", time.Since(begin).Seconds(), line)
}

// The list of what is not run stays a short one, and each reduction is of use.
func TestNotRun(t *testing.T) {
	if len(notRun) > 7 {
		t.Errorf("%d kinds of examples are not run", len(notRun))
	}
	all := examples(t)
	not := slices.DeleteFunc(slices.Clone(all), func(e example) bool { _, reason := reduced(e.line); return reason == "" })
	if len(not) > 30 || // four of them are of the programs of fleet/, which have tests of their own
		len(all) < 90 {
		t.Errorf("%d of %d examples are not run: %s", len(not), len(all), fmt.Sprint(not))
	}
	for _, r := range reductions {
		if !r.seen {
			t.Errorf("no example has %s: is the pattern right?", r.from)
		}
	}
}
