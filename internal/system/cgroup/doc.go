// Package cgroup runs programs under the limits of a container: each in a cgroup of its
// own, with a memory limit and no swap, and with the CPU quota that Kubernetes sets.
//
// Version 2 is used where this process may write its own cgroup (root in a container, or a
// scope that systemd delegates), version 1 where it may write its directories. Nothing is
// left behind: a cgroup carries the process that made it in its name, and what a process
// left that was killed, the next one removes (see [Sweep]).
package cgroup
