//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/test/commandtest"
	"github.com/foliomem/folio/internal/base/console"
)

// wrongFlags are command lines that each command must refuse before it does anything:
// values that are not numbers, empty, negative or out of range, and flags that
// contradict each other.
var wrongFlags = map[string][]string{
	"run": {
		"--count -1 -- true", "--count 0 -- true", "--gogc x -- true", "--gogc -1 -- true", "--memlimit x -- true",
		"--memlimit -1 -- true", "--memlimit 99999999999999TiB -- true",
		"--gomaxprocs -1 -- true", "--gomaxprocs 0 -- true", "--env A -- true", "--env =A -- true", "--env A=1 --env A=2 -- true",
		"--thp no -- true", "--metric x -- true", "--metric x=a -- true", "--metric x=( -- true",
		"--higher-is-better -- true", "--timeout -1s -- true", "--sample-rate -1 -- true",
		"--sample-rate 100001 -- true", "--ready x --load y -- true", "--ready tcp:localhost:1 -- true", "--load y -- true",
		"--rate 1 -- true", "--rate 1 --ready tcp:a:1 -- true", "--rate x --ready http://a/ -- true", "--rate 1 --ready http://a/ --load y -- true",
		"--rate NaN --ready http://a/ -- true", "--rate 1 --ready http://a/ --load-seed 2 -- true", "--target http://a/ -- true", "--metric p99 -- true",
		"--rate 1 --ready http://a/ --target a:80 -- true", "--attach 1 --rate 1",
		"--ready-timeout 0s -- true", "--ready-timeout 5s -- true", "--stop-timeout -1s -- true",
		"--stop-timeout 5s -- true", "--json - --bench - -- true", "--build -x", "--thp suggest -- true",
		"--json -- true", "--json --html x -- true", "--attach 0", "--attach -1", "--attach 1 -- true",
		"--attach 1 --duration 0s", "--attach 1 --duration -1s", "--attach 1 --count 2", "--attach 1 --timeout 5s",
		"--cgroup-memory 0 -- true", "--cgroup-memory -1MiB -- true", "--cgroup-memory much -- true", "--cgroup-memory 4095KiB -- true",
		"--cgroup-cpus 0 -- true", "--cgroup-cpus -1 -- true", "--cgroup-cpus NaN -- true", "--cgroup-cpus Inf -- true",
		"--cgroup-cpus 0.009 -- true", "--attach 1 --cgroup-memory 64MiB", "--attach 1 --cgroup-cpus 1",
		"--attach 1 --no-gc", "--attach 1 --gogc 50", "--duration 5s -- true", "",
	},
	"tune": {
		"--max-p99 1s -- true", "--max-p99 -1s --rate 1 --ready http://a/ -- true", "--max-errors 100% --rate 1 --ready http://a/ -- true",
		"--max-rss 1GiB --cgroup-memory 512MiB -- true", "--cgroup-memory 1MiB -- true", "--max-rss x -- true", "--max-rss 0 -- true", "--budget 0s -- true", "--budget -1s -- true",
		"--rounds 0 -- true", "--rounds -1 -- true", "--gomaxprocs 0 -- true", "--gomaxprocs 1,-1 -- true",
		"--env GOGC=50 -- true", "--env GOMEMLIMIT=1GiB -- true", "--gomaxprocs 1,2 --env GOMAXPROCS=1 -- true", "",
	},
	"ab": {
		"-- true", "-- true --", "-- -- true", "-- true -- -- true", "--detect 2 -- true -- true",
		"--detect 0% -- true -- true", "--detect 101% -- true -- true", "--detect NaN% -- true -- true", "--detect -2% -- true -- true",
		"--budget 0s -- true -- true", "--budget -1s -- true -- true", "--rounds 0 -- true -- true",
		"--rounds 1001 -- true -- true", "--fail-if x -- true -- true", "--fail-if wall>3% -- true -- true",
		"--fail-if wall>+1MiB -- true -- true", "--cgroup-cpus 0 -- true -- true",
		"--rev a ./x", "--rev a,b", "--rev a,-b ./x", "--rev a,, ./x", "--rev a,b ./x y", "--rev a,b -- go test ./x",
		"--rev a,b -- true -- true", "--thp suggest -- true -- true", "",
	},
	"lab":         {"--cgroup-memory 1MiB", "--cgroup-cpus=-1", "--size x", "--size 0", "--rounds -1", "nosuch", "--json - --html -"},
	"lab list":    {"x"},
	"doctor":      {"--duration -1s", "--skip nosuch", "x", "0", "1 2", "--json - --html -"},
	"doctor list": {"x"},
	"inspect": {"--min-density 0.4", "--min-density 1.1", "--min-density NaN", "--rows -1", "--watch=-1s", "--watch=0s", "--watch=0s 1",
		"--html - --watch", "--duration -1s 1", "--duration 0s 1", "--oom", "--oom 1 2", "--cgroup 1 2", "--cgroup 1 --oom", "--cgroup 1 --duration 1s", "--cgroup 1 --goroutines", "--cgroup no-such-group", "--duration 1s", "x", "0", "1 2", "99999999999999999999"},
	"collapse": {"", "--min-density 0.4 1", "--min-density NaN 1", "--min-density Inf 1", "--max-size 0 1",
		"--max-size x 1", "--max-rate x 1", "--watch=-1s 1", "--watch=0s 1", "--watch --dry-run 1", "x", "0", "1 2"},
	"leaks": {"", "x", "0", "1 2", "--duration 0s 1", "--duration -1s 1", "--interval 0s 1", "--interval -1s 1",
		"--duration 12s --interval 2s 1"},
	"exec": {"", "--", "--thp x -- true", "--gogc x -- true", "--gogc -1 -- true", "--memlimit x -- true",
		"--memlimit -1 -- true"},
	"patch": {"", "x", "x y -o z", "-o z"},
	"cache": {"x", "clean x"},
	"load": {"", "http://a/", "--rate 1", "--rate 0 http://a/", "--rate -1 http://a/", "--rate NaN http://a/", "--rate 1 a:80", "--rate 1 ftp://a/",
		"--rate 1 --duration 0s http://a/", "--rate 1 --warmup -1s http://a/", "--rate 1 --timeout 0s http://a/",
		"--rate 1 --connections 0 http://a/", "--rate 1 --connections -1 http://a/", "--rate 1 --max-in-flight 0 http://a/",
		"--rate 1 --arrivals x http://a/", "--rate 1 --seed 2 http://a/", "--rate 1 --http 3 http://a/", "--rate 1 --method A/B http://a/",
		"--rate 1 --header x http://a/"},
	"patches": {"nosuch", "--of x heap-hugepages", "--of x --go go1.26", "--goversion foo"},
	"suggest": {"", "-- ./prog", "--sample-rate -1 --profile x", "--sample-rate 100001 --profile x", "--json - --html - --profile x"},
	"report":  {"", "- - -o y", "x -o x"},
	"compare": {"", "x", "x y z", "- -"},
	"version": {"x"},
	"help":    {"nosuch"},
	"build":   {"--patch", "--patch= .", "--patch nosuch ."},
	"go":      {"frob"},
}

// Each bad value of each flag of each command is refused with one line that names the
// flag, in folio's words and not those of the library that reads numbers, with exit
// code 2, and before anything is done.
func TestWrongFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", t.TempDir()) // folio exec that is not refused would become the program, and the tests end there
	folioProgram.BadFlags(t)
	for name, lines := range wrongFlags {
		for _, l := range lines {
			folioProgram.Refused(t, append(strings.Fields(name), strings.Fields(l)...), "")
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("a file was made: %v, %v", left, err)
	}
}

// What stands for not given where it is the default is no value, and an error names the
// command and the flag that were used.
func TestMisuseSays(t *testing.T) {
	for line, want := range map[string]string{
		"inspect --watch=0s":              "--watch=0s: must be more than 0",
		"inspect --watch=-1s 1":           "--watch=-1s: must be more than 0",
		"inspect --duration 0s 1":         "--duration 0s: must be more than 0",
		"collapse --watch=0s 1":           "--watch=0s: must be more than 0",
		"leaks --duration 0s 1":           "--duration 0s: must be more than 0",
		"leaks --interval 0 1":            "--interval 0: must be more than 0",
		"run --gomaxprocs 0 -- true":      `--gomaxprocs: GOMAXPROCS "0": want a whole number, 1 or more`,
		"tune --gomaxprocs 1,,2 -- true":  `--gomaxprocs "1,,2": a value is empty`,
		"run --gomaxprocs -1 -- true":     `--gomaxprocs: GOMAXPROCS "-1": want a whole number, 1 or more`,
		"inspect --oom":                   "inspect --oom: no process or cgroup given: folio inspect --oom PID, or --oom CGROUP",
		"inspect --oom 1 2":               "inspect --oom: one process or cgroup at a time, not 2: folio inspect --oom PID, or --oom CGROUP",
		"leaks":                           "leaks: no process given: folio leaks PID",
		"leaks 1 2":                       "leaks: one process at a time, not 2: folio leaks PID",
		"collapse --watch 5s 1":           "collapse: one process at a time, not 2: folio collapse PID (an interval goes with =: --watch=5s)",
		"inspect --watch --duration 0s 1": "--duration 0s: must be more than 0",
	} {
		folioProgram.Refused(t, strings.Fields(line), "folio: "+want+"\n")
	}
}

// folioProgram is folio, for tests of what it refuses.
var folioProgram = commandtest.Program{
	Name: "folio",
	Root: newRoot(&app{stdout: console.New(io.Discard), stderr: console.New(io.Discard)}),
	Run: func(args []string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := exit(&stderr, run(context.Background(), args, nil, &stdout, &stderr))
		return code, stdout.String(), stderr.String()
	},
}

// Help says of each flag what it should.
func TestHelpOfFlags(t *testing.T) {
	if n := folioProgram.Flags(t); n < 200 {
		t.Errorf("only %d flags", n)
	}
}
