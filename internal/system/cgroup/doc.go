// Package cgroup runs programs under the limits of a container: each in a cgroup of its
// own, with a memory limit and no swap, and with the CPU quota that Kubernetes sets.
//
// Version 2 is used where this process may write its own cgroup (root in a container, or a
// scope that systemd delegates), version 1 where it may write its directories. Nothing is
// left behind: a second process waits for the end of this one, and removes its cgroups if it
// was killed. A cgroup carries the process that made it in its name, so that the next one
// removes what both left (see [Sweep]).
package cgroup
