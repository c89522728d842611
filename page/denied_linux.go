package page

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
)

// denied says why this process may not collapse the memory of another, and how to get
// the right. err is the kernel's word for it: EACCES where the other process may not be
// looked at, EPERM where it may.
func (r *remote) denied(err error) error {
	nice, trace := capable(unix.CAP_SYS_NICE), capable(unix.CAP_SYS_PTRACE)
	looks := err != unix.EACCES
	foreign, whose := r.foreign()
	switch {
	case looks && nice, !looks && trace:
		return fmt.Errorf("the kernel refuses it, with the capabilities that it needs: a security module (SELinux, AppArmor, Yama) or another user namespace protects the process: %w", err)
	case looks:
		return fmt.Errorf("needs CAP_SYS_NICE%s: %w", get("sys_nice"), err)
	}
	why := "it is protected (setuid, or with more capabilities than this process)"
	if foreign {
		why = whose
	}
	if nice {
		return fmt.Errorf("%s: needs CAP_SYS_PTRACE%s: %w", why, get("sys_ptrace"), err)
	}
	return fmt.Errorf("%s: needs CAP_SYS_PTRACE and CAP_SYS_NICE%s: %w", why, get("sys_ptrace", "sys_nice"), err)
}

// foreign reports whether the process is of another user than this one, and says whose.
func (r *remote) foreign() (bool, string) {
	st, err := procmem.New("").Status(r.pid)
	if err != nil || st.UID == nil || *st.UID == os.Getuid() {
		return false, ""
	}
	return true, fmt.Sprintf("it is of user %d, and this is user %d", *st.UID, os.Getuid())
}

// get says how to have capabilities.
func get(names ...string) string {
	list, docker := "", ""
	for i, n := range names {
		if i > 0 {
			list += ","
		}
		list += "cap_" + n
		docker += " --cap-add " + map[string]string{"sys_nice": "SYS_NICE", "sys_ptrace": "SYS_PTRACE"}[n]
	}
	return fmt.Sprintf(" (sudo; or sudo setcap %s+ep FILE; or docker run%s)", list, docker)
}

// capable reports whether this process has a capability.
func capable(c int) bool {
	var caps [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &caps[0]); err != nil {
		return false
	}
	return caps[c/32].Effective&(1<<(c%32)) != 0
}
