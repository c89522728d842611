// Package gosetting tells whether a Go program reads an environment variable of the Go
// runtime as it is meant: GOGC, GOMEMLIMIT, GOMAXPROCS and GODEBUG. The rules are the
// runtime's own (readGOGC, readGOMEMLIMIT, schedinit, parsegodebug).
package gosetting

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

// Off is the value of GOGC and GOMEMLIMIT that turns them off.
const Off = "off"

// Names are the variables that are checked.
var Names = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"}

// A Problem is a variable that a Go program does not read as it is meant.
type Problem struct {
	Variable string // KEY=VALUE
	Does     string // what a Go program does with it
	Want     string // which values it reads
	Meant    string // the right spelling, as KEY=VALUE; "" if that is not known
	// Unknown says that it is a GODEBUG setting that the program's Go does not have: it has
	// no effect.
	Unknown bool
}

// Error says it in a line.
func (p *Problem) Error() string {
	switch {
	case p.Meant != "":
		return fmt.Sprintf("%s: %s; write %s", p.Variable, p.Does, p.Meant)
	case p.Want != "":
		return fmt.Sprintf("%s: %s; want %s", p.Variable, p.Does, p.Want)
	}
	return p.Variable + ": " + p.Does
}

// Check returns a [*Problem] for a variable, KEY=VALUE, that a Go program does not read as it is
// meant; nil where it does, and for variables that are not in [Names]. release is the version
// of Go of the program, such as go1.26.1; "" stands for any.
func Check(variable, release string) error {
	key, value, _ := strings.Cut(variable, "=")
	if value == "" {
		return nil
	}
	if key == "GODEBUG" {
		if all := godebug(value, release); len(all) > 0 {
			return all[0]
		}
		return nil
	}
	r, ok := rules[key]
	if !ok || r.reads(value) {
		return nil
	}
	return &Problem{Variable: variable, Does: r.does, Want: r.want, Meant: r.meant(strings.TrimSpace(value))}
}

// CheckAll checks the variables of an environment, of which the first one of a name counts, as
// in the runtime.
func CheckAll(env []string, release string) (out []*Problem) {
	for _, name := range Names {
		i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if i < 0 {
			continue
		}
		if name == "GODEBUG" {
			out = append(out, godebug(env[i][len(name)+1:], release)...)
		} else if p, ok := errors.AsType[*Problem](Check(env[i], release)); ok {
			out = append(out, p)
		}
	}
	return out
}

// Died explains the output of a program that the runtime ended before main for its GOMEMLIMIT;
// "" for any other.
func Died(output string) string {
	at := strings.Index(output, "malformed GOMEMLIMIT")
	if at < 0 {
		return ""
	}
	// The runtime prints the variable in a line of its own before.
	before := output[:at]
	i := strings.LastIndex(before, "GOMEMLIMIT=")
	if i < 0 {
		return ""
	}
	variable, _, _ := strings.Cut(before[i:], "\n")
	if err := Check(variable, ""); err != nil {
		return err.Error()
	}
	return ""
}

// A rule is how the runtime reads a variable.
type rule struct {
	reads func(value string) bool
	does  string                    // with a value that it does not read
	want  string                    // what it reads
	meant func(value string) string // as KEY=VALUE; "" for not known
}

var rules = map[string]rule{
	"GOGC": {readsGOGC, "Go ignores this value and uses 100",
		"a whole percentage such as GOGC=200, or off", meantGOGC},
	"GOMEMLIMIT": {readsGOMEMLIMIT, "a Go program ends at its start with this value",
		"a whole number with B, KiB, MiB, GiB or TiB, such as GOMEMLIMIT=512MiB, or off", meantGOMEMLIMIT},
	"GOMAXPROCS": {readsGOMAXPROCS, "a Go program ignores this value",
		"a whole number such as GOMAXPROCS=2", func(s string) string { return whole("GOMAXPROCS", s) }},
}

// readsNumber says that every version of the runtime reads a number: since Go 1.26 it also takes
// a plus sign.
func readsNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 32)
	return err == nil && s[0] != '+'
}

func readsGOGC(s string) bool { return readsNumber(s) || s == Off }

// 0 is the default, written out.
func readsGOMAXPROCS(s string) bool { return readsNumber(s) && s[0] != '-' }

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

func meantGOMEMLIMIT(s string) string {
	if strings.EqualFold(s, Off) {
		return "GOMEMLIMIT=off"
	}
	if byteCount.MatchString(s + "B") {
		return "GOMEMLIMIT=" + s + "B" // as Kubernetes writes it: 512Mi
	}
	n, err := unit.MeantSize(s)
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

func meantGOGC(s string) string {
	if strings.EqualFold(s, Off) {
		return "GOGC=off"
	}
	return whole("GOGC", strings.TrimSpace(strings.TrimSuffix(s, "%")))
}

// whole writes a number that is whole, "" for another.
func whole(key, s string) string {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		return ""
	}
	return key + "=" + strconv.Itoa(int(n))
}
