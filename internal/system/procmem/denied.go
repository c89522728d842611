package procmem

import (
	"fmt"
	"os"
	"strings"
)

// Refuses is why the kernel refuses what this process has the capabilities for.
const Refuses = "refused although folio has the capabilities it needs: a security module (SELinux, AppArmor, Yama) or another user namespace protects the process"

const protected = "protected (setuid, with more capabilities than this process, or by kernel.yama.ptrace_scope)"

// Denied says why this process may not look into another, and how to get the right: also the
// further capabilities that are needed with it.
func (f FS) Denied(pid int, also ...string) string { return f.denied(pid, MayTrace(), also) }

func (f FS) denied(pid int, mayTrace bool, also []string) string {
	why, needs := f.hides(pid), Needs(append([]string{"sys_ptrace"}, also...)...)
	s, err := f.Status(pid)
	switch {
	case mayTrace && why != "":
		return why + ": " + Refuses
	case mayTrace:
		return Refuses
	case why != "":
	case err != nil || s.UID == nil || *s.UID == os.Getuid():
		why = "it is " + protected
	default:
		why = fmt.Sprintf("it belongs to user %d, and folio runs as user %d", *s.UID, os.Getuid())
		if len(also) == 0 {
			needs = strings.Replace(needs, "needs ", fmt.Sprintf("needs user %d or ", *s.UID), 1)
		}
	}
	return why + ": " + needs
}

// Needs says that capabilities, such as sys_ptrace, are missing, and how to have them.
func Needs(names ...string) string {
	all := strings.Split(strings.ToUpper("cap_"+strings.Join(names, ",cap_")), ",")
	return fmt.Sprintf(`needs %s (sudo; or sudo setcap %s+ep "$(command -v folio)"; or docker run%s)`, strings.Join(all, " and "),
		strings.ToLower(strings.Join(all, ",")), strings.ReplaceAll(","+strings.Join(all, ","), ",CAP_", " --cap-add "))
}
