//go:build unix && !aix && !illumos

package host

import "golang.org/x/sys/unix"

func kernel() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", err
	}
	return unix.ByteSliceToString(u.Release[:]), nil
}
