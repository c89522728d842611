//go:build linux && (amd64 || arm64)

package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/internal/test/testenv"
)

// buildState builds the program that says what it was started with.
func buildState(t *testing.T, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		testenv.Missing(t, "gcc")
	}
	path := filepath.Join(filepath.Dir(self(t)), "state"+strconv.Itoa(len(flags)))
	return testenv.Build{Dir: "testdata/state", Args: flags, Env: []string{"CGO_ENABLED=1"}, Output: path}.Do(t)
}

// conditions are what a parent may have set up.
var conditions = []struct{ name, set string }{
	{"nothing", ""},
	{"ignored signals", "ignore=1,2,3,10,13,15,17,23,27"},
	{"SIGCHLD ignored", "ignore=17"},
	{"blocked signals", "block=1,2,3,10,11,13,15,17,23,27,34,40,64"},
	{"SIGCHLD blocked", "block=17"},
	{"a pending signal", "block=10,12 raise=10"},
	{"a child that runs", "child=60"},
	{"a child that has ended", "zombie"},
	{"a child that has ended, SIGCHLD blocked", "block=17 zombie"},
	{"descriptors", "open=3,7,11,200"},
	{"limits", "nofile=1000,2000 core=0 stack=1048576,4194304 memlock=65536"},
	{"umask and directory", "umask=63 cd=/tmp"},
	{"scheduling", "nice=19 batch cpu=0 timerslack=70000"},
	{"memory", "oom=500 coredump=0x13 thp=1"},
	{"locked memory", "mlockall"},
	{"parent's death", "pdeathsig=12"},
	{"reaper of orphans", "subreaper=1"},
	{"personality", "personality=262144"},
	{"no new privileges", "nnp=1"},
	{"an alarm", "alarm=100"},
	{"little memory for addresses", "as=8589934592"},
}

// rootConditions need root.
var rootConditions = []struct{ name, set string }{
	{"securebits", "securebits=63"},
	{"priority", "nice=-3"},
}

// TestTheProgramFindsWhatItsParentLeft compares what a program is started with
// by the launcher and without: before its first instruction of Go.
func TestTheProgramFindsWhatItsParentLeft(t *testing.T) {
	for _, flags := range [][]string{nil, {"-buildmode=pie", "-ldflags=-linkmode=external -extldflags=-static-pie"}} {
		if testing.Short() && flags != nil {
			continue
		}
		program := buildState(t, flags...)
		if p, err := codepatch.Open(program); err != nil || p.Applied {
			t.Fatalf("the program that is compared is not one to patch: %v", err)
		}
		for i, c := range slices.Concat(conditions, rootConditions) {
			t.Run(strings.Join(append(flags, c.name), " "), func(t *testing.T) {
				if c.set == "mlockall" {
					testenv.MayLock(t)
				}
				if i >= len(conditions) {
					testenv.Root(t, "to set that up")
				}
				without := state(t, c.set, program, "one", "", "two words")
				with := state(t, c.set, self(t), "role:launch", program, "one", "", "two words")
				if strings.Contains(c.set, "block=") {
					with = chldPending.ReplaceAllString(with, "${1}0")
					without, with = urgPending.ReplaceAllString(without, "${1}0"), urgPending.ReplaceAllString(with, "${1}0")
				}
				if without != with {
					t.Errorf("%s", difference(without, with))
				}
			})
		}
	}
}

// chldPending is SIGCHLD among the signals that are pending for the process.
// Where it is blocked it stays so at the end of the helper: the kernel sends it
// to a parent that has executed a program since the fork, whatever was asked
// for at the fork. The Go runtime unblocks and drops it before package main:
// TestBlockedSIGCHLDIsNotSeen.
var chldPending = regexp.MustCompile(`(?m)^(status ShdPnd:\s+[0-9a-f]{11})1`)

// urgPending is SIGURG among the signals that are pending for the thread: the Go runtime of
// what ran before sends it to a thread that had a CPU for 10 ms.
var urgPending = regexp.MustCompile(`(?m)^(status SigPnd:\s+[0-9a-f]{10})4`)

// TestBlockedSIGCHLDIsNotSeen has a program that asks for the signal first thing.
func TestBlockedSIGCHLDIsNotSeen(t *testing.T) {
	for range 10 {
		r := run(t, nil, after(t, "block=17", launched(t, "role:chld")...)...)
		if r.err != nil || r.stdout != "no SIGCHLD\n" || r.stderr != "" {
			t.Error(r)
		}
	}
}

// TestEnvironmentIsKeptToTheLetter has what os.Environ leaves out.
func TestEnvironmentIsKeptToTheLetter(t *testing.T) {
	program := buildState(t)
	t.Setenv("BEFORE_ENV", isChild+"=1|A=1|A=2|novalue|=x||B=|PATH=/bin")
	without := state(t, "", program)
	with := state(t, "", self(t), "role:launch", program)
	if without != with || !strings.Contains(with, "|A=1|A=2|novalue|=x||B=|") {
		t.Errorf("%s", difference(without, with))
	}
}

// TestClosedStandardDescriptors: the Go runtime opens /dev/null for those that
// are closed, in the launcher as in every Go program; nothing else is there.
func TestClosedStandardDescriptors(t *testing.T) {
	program := buildState(t)
	without := state(t, "close=0,1,2", program)
	with := state(t, "close=0,1,2", self(t), "role:launch", program)
	for fd := range 3 {
		if strings.Contains(without, "fd "+strconv.Itoa(fd)+" ") {
			t.Errorf("without the launcher descriptor %d is open: %s", fd, without)
		}
		null := regexp.MustCompile(`(?m)^fd ` + strconv.Itoa(fd) + ` flags 0 status 0x[0-9a-f]+ /dev/null\n`)
		if !null.MatchString(with) {
			t.Errorf("descriptor %d is not /dev/null: %s", fd, with)
		}
		with = null.ReplaceAllString(with, "")
	}
	if without != with {
		t.Errorf("%s", difference(without, with))
	}
}

// state runs the program under conditions and returns what it says, less what
// is another in each process.
func state(t *testing.T, set string, command ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "state")
	t.Setenv("STATE", file)
	r := run(t, nil, after(t, set, command...)...)
	if r.err != nil && !strings.Contains(set, "close=") || r.stdout != "" {
		t.Fatalf("%q: %v", command, r)
	}
	if r.stderr != "state: done\n" && !strings.Contains(set, "close=") {
		t.Errorf("%q says %q", command, r.stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%q: %v: %v", command, err, r)
	}
	text := string(data)
	for _, own := range []string{regexp.QuoteMeta(file), `(?m)^status NSpid:.*\n`, `pipe:\[[0-9]+\]`} {
		text = regexp.MustCompile(own).ReplaceAllString(text, "")
	}
	return text
}

// difference lists the lines that differ.
func difference(a, b string) string {
	var out []string
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		l, r := "", ""
		if i < len(x) {
			l = x[i]
		}
		if i < len(y) {
			r = y[i]
		}
		if l != r {
			out = append(out, "without: "+l, "with:    "+r)
		}
	}
	return strings.Join(out, "\n")
}
