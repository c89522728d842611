package trial

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/internal/base/unit"
)

// Off is the value of GOGC that turns the GC off.
const Off = "off"

// THP says what the program's transparent huge pages are.
type THP string

const (
	// THPSystem leaves them as the system has them.
	THPSystem THP = ""
	// THPOff turns them off for the program and its children
	// (PR_SET_THP_DISABLE). Needs no privilege.
	THPOff THP = "off"
	// THPCollapse has folio put the Go heaps of the program on huge pages as they
	// grow, as folio collapse --watch does, but as fast as it goes. Needs what
	// MayCollapse says.
	THPCollapse THP = "collapse"
	// THPHeap has the heap of a Go program ask for huge pages as it is mapped
	// (MADV_HUGEPAGE): six bytes of its code are changed at its exec, in memory,
	// or folio built it with its patch. Needs what [Program.MayHeap] says, and no
	// privilege. Programs that it starts run as they are.
	THPHeap THP = "heap"
)

// ParseTHP reads a --thp flag.
func ParseTHP(s string) (THP, error) {
	switch s {
	case "", "system":
		return THPSystem, nil
	case "off":
		return THPOff, nil
	case "collapse":
		return THPCollapse, nil
	case "heap":
		return THPHeap, nil
	}
	return "", fmt.Errorf("--thp %q: want system, heap, off or collapse", s)
}

// A Setting is what an arm changes for the program. The zero Setting changes
// nothing: the program runs as the environment has it.
type Setting struct {
	GOGC       string   `json:"gogc"`                 // "" as the environment has it, "off", or a percentage
	MemLimit   uint64   `json:"gomemlimit_bytes"`     // GOMEMLIMIT; 0 as the environment has it
	GOMAXPROCS int      `json:"gomaxprocs,omitempty"` // 0 as the environment has it
	THP        THP      `json:"thp,omitempty"`
	Env        []string `json:"env,omitempty"` // further KEY=VALUE pairs
	// Build is how the program is built. Runners that have one program only take no
	// notice of it.
	Build variant.Build `json:"build,omitzero"`
}

// IsZero says that the setting changes nothing.
func (s Setting) IsZero() bool {
	return s.Parts() == 0 && len(s.Env) == 0
}

// With returns s with the variables of Go's runtime that over sets.
func (s Setting) With(over Setting) Setting {
	for v, value := range over.goVariables() {
		_ = v.set(&s, value) // what a setting has can be read
	}
	return s
}

// WithoutGC names what else than GOGC, GOMEMLIMIT and further variables a setting sets.
func (s Setting) WithoutGC() string {
	s.GOGC, s.MemLimit, s.Env = "", 0, nil
	return s.String()
}

// goVariables are those that the setting sets, with their values.
func (s Setting) goVariables() iter.Seq2[*GoVariable, string] {
	return func(yield func(*GoVariable, string) bool) {
		for i := range GoVariables {
			if value := GoVariables[i].get(s); value != "" && !yield(&GoVariables[i], value) {
				return
			}
		}
	}
}

// Parts is how many things a setting sets, without further variables.
func (s Setting) Parts() int {
	n := len(s.Build.Steps())
	for range s.goVariables() {
		n++
	}
	if s.THP != THPSystem {
		n++
	}
	return n
}

// Vars returns the environment variables of the setting, in the order in which
// users read them.
func (s Setting) Vars() []string {
	var v []string
	for before, value := range s.values() {
		v = append(v, before+value)
	}
	return v
}

// values are the setting's variables, in two parts each.
func (s Setting) values() iter.Seq2[string, string] {
	return func(yield func(before, value string) bool) {
		for v, value := range s.goVariables() {
			if !yield(v.Name+"=", value) {
				return
			}
		}
		for _, e := range s.Env {
			if !yield("", e) {
				return
			}
		}
	}
}

// String names the setting as tables print it. A search compares settings by it.
func (s Setting) String() string {
	name := make([]byte, 0, 64)
	add := func(before, value string) {
		if len(name) > 0 {
			name = append(name, ' ')
		}
		name = append(append(name, before...), value...)
	}
	if !s.Build.IsZero() {
		add("", s.Build.String())
	}
	for before, value := range s.values() {
		add(before, value)
	}
	if s.THP != THPSystem {
		add("thp=", string(s.THP))
	}
	if len(name) == 0 {
		return "default"
	}
	return string(name)
}

// Environ returns base with the setting's variables put in place of older ones.
func (s Setting) Environ(base []string) []string { return setenv(base, s.Vars()...) }

// setenv returns a copy of base in which each pair replaces every earlier
// definition of its key: some programs take the first definition, some the last.
func setenv(base []string, pairs ...string) []string {
	last := make(map[string]int, len(pairs))
	for i, p := range pairs {
		last[envKey(p)] = i
	}
	out := make([]string, 0, len(base)+len(pairs))
	for _, p := range base {
		if _, set := last[envKey(p)]; !set {
			out = append(out, p)
		}
	}
	for i, p := range pairs {
		if last[envKey(p)] == i {
			out = append(out, p)
		}
	}
	return out
}

func envKey(pair string) string {
	key, _, _ := strings.Cut(pair, "=")
	return key
}

// getenv returns the last definition of key in env.
func getenv(env []string, key string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && k == key {
			return v, true
		}
	}
	return "", false
}

// Line returns a shell line that runs command under the setting. Environment
// variables do all but THP, which has no variable: there folio itself is named. For
// THPHeap that is folio exec, which stays in no one's way and is for good.
func (s Setting) Line(command []string) string { return s.line(command, false) }

// TreeLine is Line for a program that starts others that have the setting, too.
func (s Setting) TreeLine(command []string) string { return s.line(command, true) }

func (s Setting) line(command []string, tree bool) string {
	vars := s.Vars()
	var launcher []string
	switch s.THP {
	case THPSystem:
	case THPHeap:
		if launcher, vars = s.Exec(); tree {
			launcher = slices.Insert(launcher, 2, "--tree")
		}
	default:
		launcher = []string{"folio", "run", "--thp=" + string(s.THP), "--"}
	}
	quoted := make([]string, 0, len(vars)+len(command)+4)
	if slices.ContainsFunc(vars, func(v string) bool { return !shellName.MatchString(envKey(v)) }) {
		quoted = append(quoted, "env") // it takes names that a shell does not
	}
	for _, v := range vars {
		key, value, _ := strings.Cut(v, "=")
		quoted = append(quoted, Quote(key)+"="+Quote(value))
	}
	quoted = append(quoted, launcher...)
	for i, c := range command {
		word := Quote(c)
		if i == 0 && word == c && strings.Contains(c, "=") {
			word = "'" + c + "'" // else it reads as one more variable
		}
		quoted = append(quoted, word)
	}
	return strings.Join(quoted, " ")
}

// SetLine returns the line that gives the setting to a process that runs.
func (s Setting) SetLine(pid int) string {
	line := "folio set"
	if s.GOGC != "" {
		line += " --gogc " + s.GOGC
	}
	if s.MemLimit != 0 {
		line += " --memlimit " + unit.Exact(s.MemLimit)
	}
	return line + " " + strconv.Itoa(pid)
}

// Exec is the command line of folio exec for a setting with THPHeap or THPSystem, up to the
// program, with the variables that it has no flags for.
func (s Setting) Exec() (words, vars []string) {
	thp := s.THP
	if thp == THPSystem {
		thp = "system" // it has heap if no flag is given
	}
	words = []string{"folio", "exec", "--thp", string(thp)}
	for v, value := range s.goVariables() {
		if v.Exec {
			words = append(words, "--"+v.Flag, Quote(value))
		} else {
			vars = append(vars, v.Name+"="+value)
		}
	}
	return append(words, "--"), append(vars, s.Env...)
}

// BuildLine returns a shell line that builds a package as folio run does and runs
// it under the setting. All is said by flags: variables would be those of the
// build, too.
func (s Setting) BuildLine(pkg string, args []string) string {
	words := []string{"folio", "run", "--build", Quote(pkg)}
	for v, value := range s.goVariables() {
		words = append(words, "--"+v.Flag+"="+Quote(value))
	}
	thp := s.THP
	if thp == THPSystem {
		thp = "system" // with --build, that is not what no flag means
	}
	words = append(words, "--thp="+string(thp))
	for _, x := range []struct{ flag, value string }{{"go", s.Build.Go}, {"goexperiment", s.Build.Experiments},
		{"goamd64", s.Build.AMD64}, {"pgo", s.Build.PGO}, {"patch", s.Build.Patches}} {
		if x.value != "" {
			words = append(words, "--"+x.flag+"="+Quote(x.value))
		}
	}
	for _, kv := range s.Env {
		words = append(words, "--env", Quote(kv))
	}
	if len(args) > 0 {
		words = append(words, "--")
	}
	for _, a := range args {
		words = append(words, Quote(a))
	}
	return strings.Join(words, " ")
}

// TestLine returns a shell line that runs go test, the command, under the setting. Its
// variables are those of the build and of the test. With huge pages for the heap, or with
// patches, it is folio go test, which builds with them.
func (s Setting) TestLine(command []string) string {
	b := s.Build
	var env, flags []string
	for _, x := range []struct{ variable, value string }{{"GOTOOLCHAIN", b.Go}, {"GOEXPERIMENT", b.Experiments}, {"GOAMD64", b.AMD64}} {
		if x.value != "" {
			env = append(env, x.variable+"="+x.value)
		}
	}
	if b.PGO != "" {
		flags = append(flags, "-pgo="+b.PGO)
	}
	out := s
	out.Build, out.Env = variant.Build{}, append(env, s.Env...)
	if s.THP == THPHeap || b.Patches != "" {
		if s.THP == THPHeap {
			out.THP = THPSystem
			b.Patches = strings.TrimPrefix(b.Patches+","+overlay.HeapHugePages, ",")
		}
		return out.Line(slices.Concat([]string{"folio", "go", "test", "--patch", b.Patches}, flags, command[2:]))
	}
	return out.Line(slices.Concat(command[:2], flags, command[2:]))
}

var shellName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Quote makes a word safe for a POSIX shell, and leaves plain words as they are.
func Quote(s string) string {
	plain := s != ""
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,+@%^", r)) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// CommandName returns the short name of a command for tables.
func CommandName(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return filepath.Base(command[0])
}

// Baseline returns what the environment already sets for the default, such as GOGC=50. What a
// Go program does not read is not set.
func Baseline() (v []string) {
	for _, key := range GoVariableNames() {
		if s := os.Getenv(key); s != "" && gosetting.Check(key+"="+s, "") == nil {
			v = append(v, key+"="+s)
		}
	}
	return v
}

// BaselineSetting is [Baseline] as a setting. What no setting has, such as GOMEMLIMIT=off, is
// not in it.
func BaselineSetting() (s Setting) {
	for _, kv := range Baseline() {
		name, value, _ := strings.Cut(kv, "=")
		_ = GoVariableNamed(name).Set(&s, value)
	}
	return s
}
