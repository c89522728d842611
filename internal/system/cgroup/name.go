package cgroup

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/system/procmem"
)

// prefix begins the names of cgroups.
const prefix = "folio-"

// An owner is the process that made a cgroup. That of another PID namespace cannot be seen,
// so the namespace is part of it; and a process id is taken again, so the time is at which
// the process began.
type owner struct {
	namespace string // the inode of its PID namespace, "0" where there are none
	pid       int
	started   int64 // hundredths of a second after boot
}

// self is this process.
func self(fs procmem.FS) (owner, error) {
	st, err := fs.Stat(os.Getpid())
	if err != nil {
		return owner{}, err
	}
	return owner{namespace(), os.Getpid(), ticks(st)}, nil
}

func ticks(st procmem.Stat) int64 { return st.StartTime.Milliseconds() / 10 }

// namespace returns the inode of the PID namespace of this process.
func namespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "0"
	}
	link, _ = strings.CutPrefix(link, "pid:[")
	inode, ok := strings.CutSuffix(link, "]")
	if _, err := strconv.ParseUint(inode, 10, 64); err != nil || !ok {
		return "0"
	}
	return inode
}

// name returns the name of a cgroup: what it is for is two numbers, of the parent and the cgroup, or "self" for that of the
// process itself.
func (o owner) name(what string) string {
	return fmt.Sprintf("%s%s-%d-%d-%s", prefix, o.namespace, o.pid, o.started, what)
}

// parseName reads what name wrote.
func parseName(name string) (o owner, what string, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	parts := strings.Split(rest, "-")
	if !ok || len(parts) != 4 || parts[3] == "" {
		return owner{}, "", false
	}
	pid, err1 := strconv.Atoi(parts[1])
	started, err2 := strconv.ParseInt(parts[2], 10, 64)
	o = owner{parts[0], pid, started}
	return o, parts[3], err1 == nil && err2 == nil && pid > 0 && o.name(parts[3]) == name
}

// alive says that the owner still runs, or may: what cannot be seen is left alone.
func (o owner) alive(fs procmem.FS) bool {
	if o.namespace != namespace() {
		return true
	}
	st, err := fs.Stat(o.pid)
	switch {
	case procmem.Gone(err):
		return false
	case err != nil:
		return true
	}
	return ticks(st) == o.started && !st.Zombie()
}
