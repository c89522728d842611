//go:build !unix

package cgroup

import "syscall"

func ownSession() *syscall.SysProcAttr { return nil }

func reap(int) {}
