package launch

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// gains says how the execution of a file would change the privileges of this
// process; "" if it would not. The kernel does not grant them to a process that
// an unprivileged one traces, and says nothing.
func gains(f *os.File, st *unix.Stat_t) (why string, err error) {
	// With no_new_privs an exec grants nothing, traced or not.
	if nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err == nil && nnp == 1 {
		return "", nil
	}
	own, err := readCredentials("/proc/self/status")
	if err != nil {
		return "", err
	}
	if why := own.change(); why != "" {
		return why, nil
	}
	return Gains(f, st), nil
}

// Gains says which privileges the execution of a file gives to an ordinary process; "" for
// none.
func Gains(f *os.File, st *unix.Stat_t) string {
	var fsys unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fsys); err == nil && fsys.Flags&unix.ST_NOSUID != 0 {
		return ""
	}
	const setgid = unix.S_ISGID | unix.S_IXGRP // without x the bit means another thing
	switch mode := fs.FileMode(st.Mode); {
	case st.Mode&unix.S_ISUID != 0:
		return fmt.Sprintf("it is setuid (user %d, mode %04o)", st.Uid, mode&0o7777)
	case st.Mode&setgid == setgid:
		return fmt.Sprintf("it is setgid (group %d, mode %04o)", st.Gid, mode&0o7777)
	}
	if n, err := unix.Fgetxattr(int(f.Fd()), "security.capability", nil); err == nil && n > 0 {
		return "it has file capabilities"
	}
	return ""
}

// credentials are those of a process that matter at its exec.
type credentials struct {
	uids, gids                       [4]int // real, effective, saved, of files
	permitted, inheritable, bounding uint64
	noRoot                           bool // being root gives no capabilities
}

// change says how an exec of any program changes the privileges of a process
// with these credentials.
func (c credentials) change() string {
	switch {
	case c.uids[0] != c.uids[1] || c.gids[0] != c.gids[1]:
		return "folio runs with another effective than real user or group"
	case (c.uids[0] == 0 || c.uids[1] == 0) && !c.noRoot && (c.bounding|c.inheritable)&^c.permitted != 0:
		return "folio runs as root with fewer capabilities than root gets at an exec"
	}
	return ""
}

func readCredentials(path string) (c credentials, err error) {
	f, err := os.Open(path)
	if err != nil {
		return c, err
	}
	defer f.Close()
	found := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		key, value, _ := strings.Cut(s.Text(), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "Uid":
			_, err = fmt.Sscan(value, &c.uids[0], &c.uids[1], &c.uids[2], &c.uids[3])
		case "Gid":
			_, err = fmt.Sscan(value, &c.gids[0], &c.gids[1], &c.gids[2], &c.gids[3])
		case "CapInh":
			c.inheritable, err = strconv.ParseUint(value, 16, 64)
		case "CapPrm":
			c.permitted, err = strconv.ParseUint(value, 16, 64)
		case "CapBnd":
			c.bounding, err = strconv.ParseUint(value, 16, 64)
		default:
			continue
		}
		if err != nil {
			return c, fmt.Errorf("%s: %s: %w", path, s.Text(), err)
		}
		found++
	}
	if found != 5 {
		return c, fmt.Errorf("%s does not say which privileges folio has", path)
	}
	bits, err := unix.PrctlRetInt(unix.PR_GET_SECUREBITS, 0, 0, 0, 0)
	const noRoot = 1 // SECBIT_NOROOT
	c.noRoot = err == nil && bits&noRoot != 0
	return c, nil
}
