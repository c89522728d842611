//go:build linux && (amd64 || arm64)

package witness

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A call is an execve or execveat, with where its arguments are.
type call struct {
	thread     int
	dir        int // descriptor, or AT_FDCWD
	path, argv uint64
	flags      int
}

// newCall returns nil for a call that executes nothing.
func newCall(n *notification) *call {
	const check = 0x10000 // AT_EXECVE_CHECK
	c := &call{thread: int(n.pid), dir: unix.AT_FDCWD, path: n.args[0], argv: n.args[1]}
	if n.nr == unix.SYS_EXECVEAT {
		c.dir, c.path, c.argv, c.flags = int(int32(n.args[0])), n.args[1], n.args[2], int(n.args[4])
	}
	if c.flags&check != 0 {
		return nil
	}
	return c
}

const maxPath = 4096

// readString reads a string of another process: at most so many bytes of it.
func readString(pid int, address uint64, most int) (string, error) {
	var out []byte
	for len(out) < most {
		// Nothing is asked of the next page before it is needed.
		n := min(most-len(out), int(4096-address%4096), 512)
		b := make([]byte, n)
		got, err := readMemory(pid, address, b)
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(b[:got], 0); end >= 0 {
			return string(append(out, b[:end]...)), nil
		}
		out = append(out, b[:got]...)
		address += uint64(got)
	}
	return string(out), nil
}

// Argv reads the arguments of the program, its name among them: at most 1,024, of each at most
// 4 KiB.
func (e *Exec) Argv() ([]string, error) {
	const most = 1024
	var out []string
	for at := e.argv; len(out) < most && at != 0; at += 8 {
		var word [8]byte
		if n, err := readMemory(e.thread, at, word[:]); err != nil || n < len(word) {
			return out, fmt.Errorf("read the arguments of process %d: %w", e.PID, errors.Join(err))
		}
		address := binary.NativeEndian.Uint64(word[:])
		if address == 0 {
			return out, nil
		}
		s, err := readString(e.thread, address, maxPath)
		if err != nil {
			return out, fmt.Errorf("read the arguments of process %d: %w", e.PID, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// find opens the file of the call, as the thread would, without the right to read it. The
// name is the thread's.
func (c *call) find() (fd int, name string, err error) {
	if name, err = readString(c.thread, c.path, maxPath); err != nil {
		return -1, "", err
	}
	if name == "" {
		if c.flags&unix.AT_EMPTY_PATH == 0 {
			return -1, "", unix.ENOENT
		}
		name = fmt.Sprintf("/proc/self/fd/%d", c.dir)
	}
	fd, err = c.open(c.dir, name)
	return fd, name, err
}

// open opens a file by a name that the thread has for it.
func (c *call) open(dir int, name string) (int, error) {
	proc := "/proc/" + strconv.Itoa(c.thread)
	if rest, ok := strings.CutPrefix(name, "/dev/fd/"); ok {
		name = "/proc/self/fd/" + rest
	}
	for _, own := range []string{"/proc/self/", "/proc/thread-self/"} {
		if rest, ok := strings.CutPrefix(name, own); ok {
			return unix.Open(proc+"/"+rest, unix.O_PATH|unix.O_CLOEXEC, 0)
		}
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC}
	if c.flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how.Flags |= unix.O_NOFOLLOW
	}
	from := proc + "/cwd"
	switch {
	case strings.HasPrefix(name, "/"):
		from = proc + "/root"
		how.Resolve = unix.RESOLVE_IN_ROOT
	case dir != unix.AT_FDCWD:
		from = fmt.Sprintf("%s/fd/%d", proc, dir)
	}
	at, err := openProc(from)
	if err != nil {
		return -1, err
	}
	defer closeFile(at)
	fd, err := openCached(at, name, how)
	if err == nil || isNone(err) {
		return fd, err
	}
	if fd, err = unix.Openat2(at, name, &how); err == nil || isNone(err) {
		return fd, err
	}
	// Without openat2, or by way of a link of /proc.
	return unix.Open(from+"/"+name, int(how.Flags), 0)
}

func isNone(err error) bool {
	return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ENAMETOOLONG
}
