// Package shortage waits until the memory of a cgroup, or of the machine, is nearly used
// up: until use less the file cache, which the kernel can take back, passes 95% of the
// limit, or 90% while tasks wait for memory (PSI; version 1: its own notifications).
//
// The kernel wakes the waiting process where it can: by an eventfd at the threshold of
// version 1, by a trigger of PSI. Else use is read as often as growth could pass the rest
// of the way, with less than 0.1% of a CPU. Nothing of the system is changed: what was
// asked of the kernel is gone with the process.
package shortage
