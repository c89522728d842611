package launch

import (
	"slices"
	"strconv"
	"strings"
)

// markName is the variable by which a process is known that was started with the patch. Its
// value is the number of the process, so that it says nothing of those that inherit it.
const markName = "FOLIO_EXEC_PID"

// Mark returns an environment with the mark of a process.
func Mark(env []string, pid int) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool { return strings.HasPrefix(pair, markName+"=") })
	return append(env, markName+"="+strconv.Itoa(pid))
}

// Marked reports whether an environment has the mark of a process: it was started with the
// patch, and has lost it where it is without, by an exec of another program.
func Marked(env []string, pid int) bool { return slices.Contains(env, markName+"="+strconv.Itoa(pid)) }
