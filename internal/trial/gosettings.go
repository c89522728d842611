package trial

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// GoVariables are the settings of Go's runtime that Folio searches.
var GoVariables = [...]string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS"}

// CheckVariable says why a Go program does not take KEY=VALUE as it is meant, and how to
// write it, in a line; nil where it does, and for variables that are no settings of Go's
// runtime. The rules are the runtime's own (readGOGC, readGOMEMLIMIT and schedinit).
func CheckVariable(kv string) error {
	key, value, _ := strings.Cut(kv, "=")
	rule, ok := rules[key]
	if !ok || value == "" || rule.reads(value) {
		return nil
	}
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
	if rule, ok := rules[key]; ok {
		return rule.write(strings.TrimSpace(value))
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

var rules = map[string]rule{
	"GOMEMLIMIT": {readsGOMEMLIMIT, "a Go program ends at its start with this value",
		"a whole number with B, KiB, MiB, GiB or TiB, such as GOMEMLIMIT=512MiB, or off", writeGOMEMLIMIT},
	"GOGC": {readsGOGC, "a Go program takes this value for 100",
		"a whole percentage such as GOGC=200, or off", writeGOGC},
	"GOMAXPROCS": {func(s string) bool { _, err := strconv.ParseInt(s, 10, 32); return err == nil },
		"a Go program ignores this value", "a whole number such as GOMAXPROCS=2", writeGOMAXPROCS},
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

func writeGOMAXPROCS(s string) string { return whole("GOMAXPROCS", s) }

// whole writes a number that is whole, "" for another.
func whole(key, s string) string {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		return ""
	}
	return key + "=" + strconv.Itoa(int(n))
}
