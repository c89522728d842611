package procmem

import (
	"fmt"
	"strings"
)

// Release is the version of the kernel, such as 6.8.0-31-generic.
type Release struct {
	Text         string
	Major, Minor int
}

// AtLeast reports whether the kernel is this version or a newer one. What
// distributions carry back into older kernels is not seen.
func (r Release) AtLeast(major, minor int) bool {
	return r.Major > major || r.Major == major && r.Minor >= minor
}

// Release reads /proc/sys/kernel/osrelease.
func (f FS) Release() (Release, error) {
	return load(f.path("proc/sys/kernel/osrelease"), parseRelease)
}

func parseRelease(data []byte) (Release, error) {
	r := Release{Text: strings.TrimSpace(string(data))}
	if n, _ := fmt.Sscanf(r.Text, "%d.%d", &r.Major, &r.Minor); n != 2 || r.Major < 0 || r.Minor < 0 {
		return Release{}, fmt.Errorf("want a version, have %q", data)
	}
	return r, nil
}
