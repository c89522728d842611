package procmem

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// ErrNoProcess says that there is no such process, or that it has ended.
var ErrNoProcess = errors.New("no such process")

// Find reads the stat of a process that is to be looked at by its number, also by system
// calls: in the /proc of another PID namespace that may be the number of two processes. The
// error is one of [FS.Unseen].
func (f FS) Find(pid int) (Stat, error) {
	if err := f.foreign(); err != nil {
		return Stat{}, err
	}
	s, err := f.Stat(pid)
	return s, f.Unseen(pid, err)
}

// Unseen says of an error of reading a process why it is not seen: an ErrNoProcess where it
// has ended or never was, else what hides it, and how to see it. Other errors are left as
// they are.
func (f FS) Unseen(pid int, err error) error {
	gone := Gone(err) || errors.Is(err, os.ErrProcessDone)
	if !gone && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if why := f.foreign(); why != nil {
		return why
	}
	if there, _ := exists(pid); f.root == "" && there {
		if !f.mounted() {
			return errUnmounted
		}
		if f.hides(pid) != "" {
			return errors.New(f.Denied(pid))
		}
	}
	if gone {
		return ErrNoProcess
	}
	return err
}

// Unlisted says what [FS.PIDs] does not show: "" for nothing. The error says why it shows
// nothing, or processes by numbers that this process does not know them by.
func (f FS) Unlisted() (why string, err error) {
	if f.root != "" || runtime.GOOS != "linux" {
		return "", nil
	}
	if !f.mounted() {
		return "", errUnmounted
	}
	if err := f.foreign(); err != nil {
		return "", err
	}
	// Process 1 is there in every namespace, and seldom of the user who asks.
	if f.hides(1) == "" {
		return "", nil
	}
	why = fmt.Sprintf("/proc is mounted with %s, which hides processes of other users: ", f.hidepid())
	if MayTrace() {
		return why + "run folio outside this user namespace", nil
	}
	return why + Needs("sys_ptrace"), nil
}

// Why /proc cannot be used.
var (
	errUnmounted = errors.New("/proc is not mounted: as root, run mount -t proc proc /proc")
	errForeign   = errors.New("/proc shows another PID namespace: run folio with unshare --mount-proc, or where /proc was mounted in its namespace")
)

// mounted reports whether there is a /proc.
func (f FS) mounted() bool {
	_, err := os.Lstat(f.path("proc/self"))
	return err == nil
}

// foreign says that the running system's /proc is one of another PID namespace.
func (f FS) foreign() error {
	if f.root == "" && f.mounted() && !f.Numbered() {
		return errForeign
	}
	return nil
}

// Numbered reports whether the numbers of processes in /proc are those that this process
// sees: not where it is that of another machine's root, or of another PID namespace.
func (f FS) Numbered() bool {
	if f.root != "" {
		return false
	}
	self, err := os.Readlink(f.path("proc/self"))
	return err == nil && self == strconv.Itoa(os.Getpid())
}

// hides says what keeps a process out of sight that is there; "" for nothing.
func (f FS) hides(pid int) string {
	if f.root != "" || f.seen(pid) {
		return ""
	}
	option := f.hidepid()
	there, own := exists(pid)
	switch {
	case option == "" || !there:
		return ""
	case own:
		return fmt.Sprintf("/proc is mounted with %s, which hides this process: it is %s", option, protected)
	}
	return fmt.Sprintf("/proc is mounted with %s, which hides this process of another user", option)
}

// seen reports whether a process can be looked at in /proc at all: with hidepid= its
// directory is absent (invisible, ptraceable) or closed (noaccess).
func (f FS) seen(pid int) bool {
	_, err := os.Stat(f.procPath(pid, "stat"))
	return err == nil
}

// hidepid returns the option hidepid= with which /proc is mounted, as the kernel writes it:
// before Linux 5.8 a number, later a word. It is "" for none.
func (f FS) hidepid() string {
	mounts, _ := f.mounts() // then it is not known
	for _, m := range slices.Backward(mounts) {
		if m.point != "/proc" {
			continue
		}
		for _, option := range m.options {
			if strings.HasPrefix(option, "hidepid=") {
				return option
			}
		}
		return ""
	}
	return ""
}
