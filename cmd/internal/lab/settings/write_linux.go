package settings

import "syscall"

// mayWrite returns an error if this process may not write to a file or into a directory.
func mayWrite(path string) error { return syscall.Access(path, 2) } // W_OK
