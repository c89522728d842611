package trial

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTraceEnv(t *testing.T) {
	const strip = "'-toolexec=env -u GODEBUG'"
	for _, c := range []struct {
		name     string
		env      []string
		godebug  string
		goflags  string
		keep, ok bool
	}{
		{"nothing set", nil, "gctrace=1", strip, false, true},
		{"empty values", []string{"GODEBUG=", "GOFLAGS="}, "gctrace=1", strip, false, true},
		{"other GODEBUG", []string{"GODEBUG=http2client=0"}, "http2client=0,gctrace=1", "'-toolexec=env GODEBUG=http2client=0'", false, true},
		{"other GOFLAGS", []string{"GOFLAGS=-mod=mod -count=1"}, "gctrace=1", "-mod=mod -count=1 " + strip, false, true},
		{"the last definition counts", []string{"GODEBUG=a=1", "GODEBUG=b=2"}, "b=2,gctrace=1", "'-toolexec=env GODEBUG=b=2'", false, true},
		{"switched off", []string{"GODEBUG=gctrace=0"}, "gctrace=0,gctrace=1", "'-toolexec=env GODEBUG=gctrace=0'", false, true},
		{"asked for", []string{"GODEBUG=x=1,gctrace=1"}, "x=1,gctrace=1", "", true, true},
		{"asked for, with flags", []string{"GODEBUG=gctrace=1", "GOFLAGS=-toolexec=x"}, "gctrace=1", "-toolexec=x", true, true},
		{"own toolexec", []string{"GOFLAGS=-toolexec=/bin/x"}, "", "-toolexec=/bin/x", false, false},
		{"own toolexec, quoted", []string{"GOFLAGS='-toolexec=x y'"}, "", "'-toolexec=x y'", false, false},
		{"GODEBUG that cannot be quoted", []string{"GODEBUG=a=b c"}, "a=b c", "", false, false},
		{"GODEBUG with a quote", []string{"GODEBUG=a='"}, "a='", "", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := append([]string{"GOENV=off", "HOME=/h"}, c.env...)
			before := slices.Clone(env)
			out, keep, ok := traceEnv(env)
			if keep != c.keep || ok != c.ok {
				t.Errorf("keep %v, ok %v; want %v, %v", keep, ok, c.keep, c.ok)
			}
			if got, _ := getenv(out, "GODEBUG"); got != c.godebug {
				t.Errorf("GODEBUG=%s, want %s", got, c.godebug)
			}
			if got, _ := getenv(out, "GOFLAGS"); got != c.goflags {
				t.Errorf("GOFLAGS=%s, want %s", got, c.goflags)
			}
			if got, _ := getenv(out, "HOME"); got != "/h" {
				t.Errorf("HOME=%s", got)
			}
			if !slices.Equal(env, before) {
				t.Errorf("the environment given was changed to %q", env)
			}
			if (!c.ok || c.keep) && !slices.Equal(out, env) {
				t.Errorf("got %q, want it unchanged", out)
			}

			note := (&Program{Trace: true, Env: env}).TraceNote()
			if (note == "") != c.ok {
				t.Errorf("note %q, ok %v", note, c.ok)
			}
			if note := (&Program{Env: env}).TraceNote(); note != "" {
				t.Errorf("no trace was wanted, but there is a note: %s", note)
			}
		})
	}
}

// GOFLAGS in the environment hides the flags of the go env file, so those must
// be in it.
func TestTraceKeepsGoEnvFile(t *testing.T) {
	const strip = "'-toolexec=env -u GODEBUG'"
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "env")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "GOENV=" + file
	}
	for _, c := range []struct {
		name, want string
		env        []string
	}{
		{"file", "-tags=x " + strip, []string{write("GOPROXY=off\nGOFLAGS=-tags=x\n# GOFLAGS=-no\n")}},
		{"the last line counts", "-b " + strip, []string{write("GOFLAGS=-a\n GOFLAGS=-b")}},
		{"the environment comes first", "-e " + strip, []string{write("GOFLAGS=-f\n"), "GOFLAGS=-e"}},
		{"no flags in it", strip, []string{write("GOPROXY=off\n")}},
		{"no such file", strip, []string{"GOENV=/nonexistent/env"}},
		{"off", strip, []string{"GOENV=off"}},
	} {
		out, _, ok := traceEnv(c.env)
		if got, _ := getenv(out, "GOFLAGS"); got != c.want || !ok {
			t.Errorf("%s: GOFLAGS=%s (%v), want %s", c.name, got, ok, c.want)
		}
	}
	if _, _, ok := traceEnv([]string{write("GOFLAGS=-toolexec=x\n")}); ok {
		t.Error("a -toolexec in the go env file was not seen")
	}

	// Without GOENV it is the file in the user's configuration directory.
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "cfg"))
	t.Setenv("AppData", filepath.Join(home, "cfg"))
	dir, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go", "env"), []byte("GOFLAGS=-home\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{nil, {"GOENV="}} {
		out, _, _ := traceEnv(env)
		if got, _ := getenv(out, "GOFLAGS"); !strings.HasPrefix(got, "-home ") {
			t.Errorf("%q: GOFLAGS=%s", env, got)
		}
	}
}

func TestTraced(t *testing.T) {
	for in, want := range map[string]bool{
		"": false, "gctrace=1": true, "gctrace=2": true, "gctrace=0": false, "gctrace=": false, "gctrace": false, "xgctrace=1": false,
		"a=1,gctrace=1,b=2": true, "gctrace=1,gctrace=0": false, "gctrace=0,gctrace=1": true, " gctrace=1": true, "gctracer=1": false,
	} {
		if got := traced(in); got != want {
			t.Errorf("traced(%q) = %v", in, got)
		}
	}
}
