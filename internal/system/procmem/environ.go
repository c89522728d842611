package procmem

import (
	"strings"

	"github.com/foliomem/folio/internal/base/input"
)

// Environ reads /proc/PID/environ: the environment that a process was started
// with, as KEY=VALUE; pid 0 is the calling process. What the process changed
// since is not in it. A process of another user needs the right to ptrace it
// (CAP_SYS_PTRACE).
func (f FS) Environ(pid int) ([]string, error) {
	read := func(path string) ([]byte, error) { return readSlowlyMost(path, input.MaxEnvironment) }
	return loadBy(read, f.procPath(pid, "environ"), parseEnviron)
}

// parseEnviron never fails: a program may have written anything there, for
// example the title that ps shows.
func parseEnviron(data []byte) ([]string, error) {
	var env []string
	for pair := range strings.SplitSeq(string(data), "\x00") {
		if strings.Contains(pair, "=") {
			env = append(env, pair)
		}
	}
	return env, nil
}
