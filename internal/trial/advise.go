package trial

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/overlay"
	"github.com/foliomem/folio/internal/procmem"
)

// ErrNotPatched says that THPAdvise needs a program that folio built.
var ErrNotPatched = errors.New("--thp advise: needs --build PACKAGE: the heap of a program asks for huge pages only when folio builds it")

// patched returns env with the variable that turns the patch off, or without it.
// A program that has no patch gets env as it is.
func (p *Program) patched(env []string, thp THP) []string {
	if !p.Patched {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return envKey(kv) == overlay.HugePagesVariable })
	if thp != THPAdvise {
		env = append(env, overlay.HugePagesVariable+"="+overlay.HugePagesOff)
	}
	return env
}

// Advisable says why THPAdvise would change nothing here, for a program with this
// environment; nil if nothing is known that would be in its way. The program can
// run all the same.
func Advisable(fs procmem.FS, env []string) error {
	godebug, _ := getenv(env, "GODEBUG")
	for _, kv := range strings.Split(godebug, ",") {
		if kv == "disablethp=1" {
			return errors.New("GODEBUG=disablethp=1 forbids it: unset that")
		}
	}
	thp, err := fs.THP()
	switch {
	case err != nil && thp.Enabled.Selected == "":
		return fmt.Errorf("the policy for huge pages is not known: %w", err)
	case !thp.Present:
		return errors.New("the kernel has no transparent huge pages")
	case thp.Enabled.Selected == "never":
		return errors.New("transparent huge pages are off on this system: as root, echo madvise > /sys/kernel/mm/transparent_hugepage/enabled gives them to programs that ask")
	}
	if st, err := fs.Status(os.Getpid()); err == nil && st.THPDisabled() {
		return errors.New("huge pages are turned off for folio and what it starts: PR_SET_THP_DISABLE, or MemoryTHP= of a systemd unit")
	}
	return nil
}
