package codepatch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// privileged are the extended attributes that a copy must not lose silently.
var privileged = map[string]string{
	"security.capability": "it has file capabilities: a copy would lose them, or must not get them from folio",
	"security.ima":        "it is signed (security.ima): the signature would not fit a changed copy",
	"security.evm":        "it is signed (security.evm): the signature would not fit a changed copy",
}

// verity is FS_VERITY_FL of the file's flags.
const verity = 0x00100000

// privileges refuses files with capabilities or signatures.
func privileges(f *os.File) error {
	fd := int(f.Fd())
	for name, why := range privileged {
		if n, err := unix.Fgetxattr(fd, name, nil); err == nil && n > 0 {
			return refuse(Privileged, "%s", why)
		}
	}
	if flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS); err == nil && flags&verity != 0 {
		return refuse(Privileged, "it is protected by fs-verity: a copy would not be")
	}
	return nil
}

// attributes gives the copy what the program has. The owner and attributes that
// need a privilege stay as they are without it; a note says so.
func attributes(in, out *os.File, info fs.FileInfo) (notes []string, err error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.New("the system does not say whose file it is")
	}
	// First, since it clears bits of the mode.
	_ = out.Chown(int(st.Uid), int(st.Gid))
	if own, err := out.Stat(); err != nil {
		return nil, err
	} else if o, ok := own.Sys().(*syscall.Stat_t); ok && (o.Uid != st.Uid || o.Gid != st.Gid) {
		notes = append(notes, fmt.Sprintf("the copy belongs to user %d, group %d; the program to user %d, group %d",
			o.Uid, o.Gid, st.Uid, st.Gid))
	}
	missed, err := copyXattrs(int(in.Fd()), int(out.Fd()))
	if err != nil {
		return nil, err
	}
	if len(missed) > 0 {
		notes = append(notes, "not copied, since that needs a privilege or another file system: "+strings.Join(missed, ", "))
	}
	if err := out.Chmod(info.Mode().Perm() | info.Mode()&fs.ModeSticky); err != nil {
		return nil, err
	}
	return notes, setTimes(out, st.Atim.Nano(), info.ModTime().UnixNano())
}

// setTimes sets the times of an open file, which may have no name.
func setTimes(f *os.File, times ...int64) error {
	var ts [2]unix.Timespec
	for i, t := range times {
		ts[i] = unix.NsecToTimespec(t)
	}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, f.Fd(), 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("set the times: %w", errno)
	}
	return nil
}

func fdPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// copyXattrs copies all extended attributes that are listed and can be read,
// and returns the names of those that cannot be set.
func copyXattrs(in, out int) (missed []string, err error) {
	list := make([]byte, 64<<10) // XATTR_LIST_MAX
	n, err := unix.Flistxattr(in, list)
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("list extended attributes: %w", err)
	}
	value := make([]byte, 64<<10) // XATTR_SIZE_MAX
	for _, name := range bytes.Split(bytes.TrimSuffix(list[:n], []byte{0}), []byte{0}) {
		if len(name) == 0 {
			continue
		}
		v, err := unix.Fgetxattr(in, string(name), value)
		if errors.Is(err, unix.ENODATA) {
			continue
		}
		if err == nil {
			err = unix.Fsetxattr(out, string(name), value[:v], 0)
		}
		if err != nil {
			missed = append(missed, string(name))
		}
	}
	return missed, nil
}

// newTemp is a file without a name where the file system has such: whatever
// ends folio, nothing is left.
func newTemp(path string) (*temp, error) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return namedTemp(path) // by which it would get its name
	}
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return namedTemp(path)
	}
	return &temp{os.NewFile(uintptr(fd), path), ""}, nil
}

// place gives the copy its name.
func (t *temp) place(path string) error {
	if t.name == "" {
		name, err := namedTemp(path)
		if err != nil {
			return err
		}
		// A name that is free: link does not replace.
		if err := errors.Join(name.File.Close(), os.Remove(name.name)); err != nil {
			return err
		}
		if err := unix.Linkat(unix.AT_FDCWD, fdPath(t.File), unix.AT_FDCWD, name.name, unix.AT_SYMLINK_FOLLOW); err != nil {
			return &os.LinkError{Op: "link", Old: path, New: path, Err: err}
		}
		t.name = name.name
	}
	return t.rename(path)
}
