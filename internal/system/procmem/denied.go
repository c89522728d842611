package procmem

import (
	"fmt"
	"os"
	"strings"
)

// Refuses is why the kernel refuses what this process has the capabilities for.
const Refuses = "the kernel refuses it, with the capabilities that it needs: a security module (SELinux, AppArmor, Yama) or another user namespace protects the process"

const protected = "protected (setuid, with more capabilities than this process, or by kernel.yama.ptrace_scope)"

var needsTrace = "needs CAP_SYS_PTRACE" + Grant("sys_ptrace")

// Denied says why this process may not look into another, and how to get the right.
func (f FS) Denied(pid int) string { return f.denied(pid, MayTrace()) }

func (f FS) denied(pid int, mayTrace bool) string {
	if mayTrace {
		if why := f.hides(pid); why != "" {
			return why + ": " + Refuses
		}
		return Refuses
	}
	return f.Protection(pid) + ": " + needsTrace
}

// Protection says what keeps a process without CAP_SYS_PTRACE from looking into another.
func (f FS) Protection(pid int) string {
	if why := f.hides(pid); why != "" {
		return why
	}
	s, err := f.Status(pid)
	if err != nil || s.UID == nil || *s.UID == os.Getuid() {
		return "it is " + protected
	}
	return fmt.Sprintf("it is of user %d, and this is user %d", *s.UID, os.Getuid())
}

// Grant says how to have capabilities, such as sys_ptrace.
func Grant(names ...string) string {
	list, docker := "", ""
	for i, n := range names {
		if i > 0 {
			list += ","
		}
		list += "cap_" + n
		docker += " --cap-add " + strings.ToUpper(n)
	}
	return fmt.Sprintf(" (sudo; or sudo setcap %s+ep FILE; or docker run%s)", list, docker)
}
