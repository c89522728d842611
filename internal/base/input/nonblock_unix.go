//go:build unix && !linux

package input

import "syscall"

const nonblock = syscall.O_NONBLOCK // a pipe does not wait for who writes
