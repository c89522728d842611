package trial

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// A GoVariable is a setting of Go's runtime that is an environment variable: all that
// parsers, flags, tables and files have to know of it. A new one is an entry of
// [GoVariables] and a field of [Setting] and of result.Setting.
type GoVariable struct {
	Name     string
	Flag     string // of folio run, without the dashes
	Help     string // of the flag: its values
	Exec     bool   // folio exec has the flag
	Searched bool   // folio tune chooses the values to try; else they are given by its flag

	get func(Setting) string         // "" as the environment has it
	set func(*Setting, string) error // of any value but ""
}

// GoVariables are the settings of Go's runtime that Folio knows, in the order in which
// users read them.
var GoVariables = [...]GoVariable{
	{
		Name: "GOGC", Flag: "gogc", Help: "`n` percent, or off", Exec: true, Searched: true,
		get: func(s Setting) string { return s.GOGC },
		set: func(s *Setting, value string) (err error) { s.GOGC, err = ParseGOGC(value); return err },
	},
	{
		Name: "GOMEMLIMIT", Flag: "memlimit", Help: "a `size` such as 512MiB", Exec: true, Searched: true,
		get: func(s Setting) string { return text(s.MemLimit, unit.Exact) },
		set: func(s *Setting, value string) (err error) { s.MemLimit, err = unit.ParseSize(value); return err },
	},
	{
		Name: "GOMAXPROCS", Flag: "gomaxprocs", Help: "`n`",
		get: func(s Setting) string { return text(s.GOMAXPROCS, strconv.Itoa) },
		set: func(s *Setting, value string) (err error) { s.GOMAXPROCS, err = parseGOMAXPROCS(value); return err },
	},
}

// Key is the variable's configuration key in the Go benchmark format.
func (v *GoVariable) Key() string { return strings.ToLower(v.Name) }

// Of returns the variable's value in a setting; "" as the environment has it.
func (v *GoVariable) Of(s Setting) string { return v.get(s) }

// Set reads a value into a setting; "" changes nothing.
func (v *GoVariable) Set(s *Setting, value string) error {
	if value == "" {
		return nil
	}
	return v.set(s, value)
}

// ReadSetting reads the setting that a file in the Go benchmark format has, of its
// configuration; "" for what was not set. Builds are not read.
func ReadSetting(config func(key string) string) (s Setting, err error) {
	for i := range GoVariables {
		err = errors.Join(err, GoVariables[i].Set(&s, config(GoVariables[i].Key())))
	}
	thp, wrong := ParseTHP(config("thp"))
	s.THP = thp
	return s, errors.Join(err, wrong)
}

// GoVariableNamed returns the variable of a name; nil for others.
func GoVariableNamed(name string) *GoVariable {
	i := slices.IndexFunc(GoVariables[:], func(v GoVariable) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &GoVariables[i]
}

// GoVariableNames are the names of all.
func GoVariableNames() (names []string) {
	for _, v := range GoVariables {
		names = append(names, v.Name)
	}
	return names
}

// GoVariableKeys are the configuration keys of all.
func GoVariableKeys() []string {
	return strings.Fields(strings.ToLower(strings.Join(GoVariableNames(), " ")))
}

// text formats a number; "" for 0.
func text[T int | uint64](v T, format func(T) string) string {
	if v == 0 {
		return ""
	}
	return format(v)
}

// ParseGOGC checks a GOGC value: "off" or a whole percentage.
func ParseGOGC(s string) (string, error) {
	if s == "" || s == Off {
		return s, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return "", fmt.Errorf("GOGC %q: want off or a whole percentage such as 200", s)
	}
	return strconv.Itoa(n), nil
}

// parseGOMAXPROCS reads a number that sets something: the runtime ignores others.
func parseGOMAXPROCS(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("GOMAXPROCS %q: want a whole number, 1 or more", s)
	}
	return int(n), nil
}
