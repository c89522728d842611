package trial

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
)

// traceEnv returns env with gctrace switched on for every Go program of the
// tree. keep is true when env asks for the trace already: then the user wants
// to see its lines. ok is false when the trace cannot be switched on without
// harm; env is returned unchanged.
//
// The harm: the go command stores what a compiler prints in its build cache and
// prints it again whenever the package is needed. A compile run under
// GODEBUG=gctrace=1 would leave trace lines in the user's cache for good. So any
// go command in the tree is told, through GOFLAGS, to start its tools (compile,
// link, vet) without GODEBUG. Tests and programs that it runs keep the trace.
// The flag has no part in cache keys. What the tools themselves collect is
// therefore not counted.
func traceEnv(env []string) (out []string, keep, ok bool) {
	godebug, _ := getenv(env, "GODEBUG")
	if traced(godebug) {
		return env, true, true
	}
	strip := "env -u GODEBUG"
	traced := "gctrace=1"
	if godebug != "" {
		if strings.ContainsAny(godebug, " \t\n'\"") {
			return env, false, false // cannot be quoted inside GOFLAGS
		}
		strip, traced = "env GODEBUG="+godebug, godebug+",gctrace=1"
	}
	goflags := effectiveGOFLAGS(env)
	if strings.Contains(goflags, "-toolexec") {
		return env, false, false // the user's own wrapper: only one can be given
	}
	goflags = strings.TrimSpace(goflags + " '-toolexec=" + strip + "'")
	return setenv(env, "GODEBUG="+traced, "GOFLAGS="+goflags), false, true
}

func traced(godebug string) bool {
	on := false
	for _, kv := range strings.Split(godebug, ",") {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.TrimSpace(k) == "gctrace" {
			on = v != "0" && v != ""
		}
	}
	return on
}

// effectiveGOFLAGS returns the GOFLAGS that a go command would see: setting the
// variable hides the one in the user's go env file, so that one must be kept.
func effectiveGOFLAGS(env []string) string {
	if v, _ := getenv(env, "GOFLAGS"); v != "" {
		return v
	}
	file, ok := getenv(env, "GOENV")
	if file == Off {
		return ""
	}
	if !ok || file == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return ""
		}
		file = filepath.Join(dir, "go", "env")
	}
	f, err := os.Open(file)
	if err != nil {
		return "" // no such file is the common case
	}
	defer f.Close()
	flags := ""
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if v, ok := strings.CutPrefix(strings.TrimSpace(sc.Text()), "GOFLAGS="); ok {
			flags = v
		}
	}
	return flags
}
