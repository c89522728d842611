package trial

import (
	"errors"
	"fmt"
	"math"
	"regexp"
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

	get  func(Setting) string         // "" as the environment has it
	set  func(*Setting, string) error // of any value but ""
	rule rule
}

// GoVariables are the settings of Go's runtime that Folio knows, in the order in which
// users read them.
var GoVariables = [...]GoVariable{
	{
		Name: "GOGC", Flag: "gogc", Help: "`n` percent, or off", Exec: true, Searched: true,
		get: func(s Setting) string { return s.GOGC },
		set: func(s *Setting, value string) (err error) { s.GOGC, err = ParseGOGC(value); return err },
		rule: rule{readsGOGC, "a Go program takes this value for 100",
			"a whole percentage such as GOGC=200, or off", writeGOGC},
	},
	{
		Name: "GOMEMLIMIT", Flag: "memlimit", Help: "a `size` such as 512MiB", Exec: true, Searched: true,
		get: func(s Setting) string { return text(s.MemLimit, unit.Exact) },
		set: func(s *Setting, value string) (err error) { s.MemLimit, err = unit.ParseSize(value); return err },
		rule: rule{readsGOMEMLIMIT, "a Go program ends at its start with this value",
			"a whole number with B, KiB, MiB, GiB or TiB, such as GOMEMLIMIT=512MiB, or off", writeGOMEMLIMIT},
	},
	{
		Name: "GOMAXPROCS", Flag: "gomaxprocs", Help: "`n`",
		get: func(s Setting) string { return text(s.GOMAXPROCS, strconv.Itoa) },
		set: func(s *Setting, value string) (err error) { s.GOMAXPROCS, err = parseGOMAXPROCS(value); return err },
		rule: rule{readsGOMAXPROCS, "a Go program ignores this value",
			"a whole number such as GOMAXPROCS=2", writeGOMAXPROCS},
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

// CheckVariable says why a Go program does not take KEY=VALUE as it is meant, and how to
// write it, in a line; nil where it does, and for variables that are no settings of Go's
// runtime. The rules are the runtime's own (readGOGC, readGOMEMLIMIT and schedinit).
func CheckVariable(kv string) error {
	key, value, _ := strings.Cut(kv, "=")
	v := GoVariableNamed(key)
	if v == nil || value == "" || v.rule.reads(value) {
		return nil
	}
	rule := v.rule
	means := Meant(kv)
	if means == "" {
		return fmt.Errorf("%s: %s; want %s", kv, rule.does, rule.want)
	}
	return fmt.Errorf("%s: %s; write %s", kv, rule.does, means)
}

// Meant returns what was probably meant by a variable that [CheckVariable] refuses, as KEY=VALUE;
// "" for not known.
func Meant(kv string) string {
	key, value, _ := strings.Cut(kv, "=")
	if v := GoVariableNamed(key); v != nil {
		return v.rule.write(strings.TrimSpace(value))
	}
	return ""
}

// A rule is how Go's runtime reads a variable.
type rule struct {
	reads func(value string) bool
	does  string                    // with a value that it does not read
	want  string                    // what it reads
	write func(value string) string // what was probably meant, as KEY=VALUE; "" for not known
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

// byteCount is what the runtime takes for a size; decimal one in units of 1000, as
// Kubernetes writes them.
var (
	byteCount = regexp.MustCompile(`^[0-9]+(([KMGT]i)?B)?$`)
	decimal   = regexp.MustCompile(`^[0-9]+[KMGT]B?$`)
)

func readsGOMEMLIMIT(s string) bool {
	if s == Off {
		return true
	}
	if !byteCount.MatchString(s) {
		return false
	}
	digits := strings.TrimRight(s, "BiKMGT")
	shift := 0
	if len(s) > len(digits)+1 {
		shift = 10 * (1 + strings.IndexByte("KMGT", s[len(digits)]))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return err == nil && n <= math.MaxInt64>>shift
}

func writeGOMEMLIMIT(s string) string {
	if strings.EqualFold(s, Off) {
		return "GOMEMLIMIT=off"
	}
	if byteCount.MatchString(s + "B") {
		return "GOMEMLIMIT=" + s + "B" // as Kubernetes writes it: 512Mi
	}
	n, err := unit.ParseSize(s)
	if err != nil {
		return ""
	}
	out := "GOMEMLIMIT=" + unit.Exact(n)
	if decimal.MatchString(s) {
		digits := strings.TrimRight(s, "KMGTB")
		out += ", or GOMEMLIMIT=" + digits + strings.Repeat("000", 1+strings.IndexByte("KMGT", s[len(digits)])) + "B"
	}
	return out
}

func readsGOGC(s string) bool {
	_, err := strconv.ParseInt(s, 10, 32)
	return err == nil || s == Off
}

func writeGOGC(s string) string {
	if strings.EqualFold(s, Off) {
		return "GOGC=off"
	}
	return whole("GOGC", strings.TrimSpace(strings.TrimSuffix(s, "%")))
}

// parseGOMAXPROCS reads a number that sets something: the runtime ignores others.
func parseGOMAXPROCS(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("GOMAXPROCS %q: want a whole number, 1 or more", s)
	}
	return int(n), nil
}

func readsGOMAXPROCS(s string) bool {
	_, err := strconv.ParseInt(s, 10, 32)
	return err == nil
}

func writeGOMAXPROCS(s string) string { return whole("GOMAXPROCS", s) }

// whole writes a number that is whole, "" for another.
func whole(key, s string) string {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		return ""
	}
	return key + "=" + strconv.Itoa(int(n))
}
