//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// The test binary is folio and every program that folio measures here: they are
// Go programs, so the GC's trace works on them.
func TestMain(m *testing.M) {
	testenv.Beside("4")
	testscript.Main(m, map[string]func(){
		"folio":   main,
		"gcprog":  gcprog,
		"server":  server,
		"load":    askServer,
		"hostile": hostile,
		"maxrss":  maxrss,
		"hidden":  hidden,
	})
}

// raceEnv keeps programs built with the race detector from sleeping for a
// second before they end.
const raceEnv = "GORACE=atexit_sleep_ms=0"

// noTelemetry keeps the go command from leaving a process of its own behind, which it
// does at its first run for a user.
func noTelemetry() string {
	dir, err := filepath.Abs("testdata/config")
	check(err)
	return "XDG_CONFIG_HOME=" + dir
}

// userCache keeps what folio reads once for a user: the names of the kernel's functions
// take a tenth of a second, and what is built with patches takes compiling the standard
// library. The names of their files are in the key of Go's build cache.
func userCache() string {
	dir, err := os.UserCacheDir()
	check(err)
	return "XDG_CACHE_HOME=" + dir
}

// Scripts say in their first lines what they are about. Beside the usual
// commands there are those of scriptCommands.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Cmds:               scriptCommands,
		Setup: func(env *testscript.Env) error {
			port, err := testenv.FreePort()
			if err != nil {
				return err
			}
			env.Setenv("PORT", port)
			// A home of their own: without one they, and the go command, would make /no-home.
			env.Setenv("HOME", env.WorkDir)
			env.Values[scriptT] = env.T()
			env.Vars = append(append(env.Vars, raceEnv, noTelemetry(), userCache()), goCaches()...)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "race":
				return testenv.Race, nil // programs of a test then take more memory
			case "full": // of all tests
				return testenv.Full(), nil
			case "sampling":
				return perf.Check() == nil, nil
			case "thp":
				_, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled")
				return err == nil, nil
			case "madvise": // huge pages for those who ask, and of the usual sizes
				thp, err := procmem.New("").THP()
				st, _ := procmem.New("").Status(os.Getpid())
				return thp.Enabled.Selected == "madvise" && !st.THPDisabled() && os.Getpagesize() == 4096 &&
					thp.HugePageBytes != nil && *thp.HugePageBytes == 2<<20, err
			case "thpfree": // THP can be turned off for a process
				data, err := os.ReadFile("/proc/self/status")
				return bytes.Contains(data, []byte("THP_enabled:\t1")), err
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

func TestExit(t *testing.T) {
	plain, other := errors.New("a: b"), errors.New("c: d")
	for _, tt := range []struct {
		name string
		err  error
		code int
		want string
	}{
		{"nil", nil, 0, ""},
		{"failure", plain, 1, "folio: a: b\n"},
		{"misuse", misuse(plain), 2, "folio: a: b\n"},
		{"wrapped misuse", fmt.Errorf("x: %w", misuse(plain)), 2, "folio: x: a: b\n"},
		{"misuse of nothing", misuse(nil), 0, ""},
		{"code", exitCode(7), 7, ""},
		{"code 0", exitCode(0), 0, ""},
		{"code and failure", errors.Join(exitCode(7), plain), 7, "folio: a: b\n"},
		{"two failures", errors.Join(plain, other), 1, "folio: a: b; c: d\n"},
		{"the same twice", errors.Join(plain, errors.Join(nil, other, plain)), 1, "folio: a: b; c: d\n"},
		{"wrapped join", fmt.Errorf("x: %w", errors.Join(plain, other)), 1, "folio: x: a: b; c: d\n"},
		{"interrupted early", errors.Join(plain, errNothing), 130, "folio: a: b; interrupted before anything was measured\n"},
	} {
		var b bytes.Buffer
		if got := exit(&b, tt.err); got != tt.code || b.String() != tt.want {
			t.Errorf("%s: exit code %d, text %q; want %d, %q", tt.name, got, b.String(), tt.code, tt.want)
		}
	}
}

// processesWith returns the processes whose environment has pair, other than
// this one.
func processesWith(pair string) []string {
	var out []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range paths {
		if p == fmt.Sprintf("/proc/%d/environ", os.Getpid()) {
			continue
		}
		env, err := os.ReadFile(p)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00"+pair+"\x00")) {
			continue
		}
		cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		if bytes.Contains(cmd, []byte("** telemetry **")) {
			continue // the go command's own, which outlives it by design, for a moment
		}
		out = append(out, filepath.Base(filepath.Dir(p))+" "+strings.ReplaceAll(string(cmd), "\x00", " "))
	}
	return out
}

// lines counts the lines of a file; a missing one has none.
func lines(path string) int {
	data, _ := os.ReadFile(path)
	return bytes.Count(data, []byte("\n"))
}
