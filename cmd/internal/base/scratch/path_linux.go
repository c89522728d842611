package scratch

import "golang.org/x/sys/unix"

// passThrough opens a directory that may not be listed.
const passThrough = unix.O_PATH
