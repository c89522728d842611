// Command charge shows how near the parts of folio inspect --cgroup are to what the kernel
// charges: the table in docs/lab-notes/charge.md.
//
//	go run ./cmd/bench/charge
//
// It makes ten containers (cgroups with a limit of 2 GiB, so it needs root on most machines), each
// with programs of one habit, and reads each at rest and then ten times while they work. "sum" is
// by how much the parts together are off the charge, but for what the kernel charges in advance for
// each CPU.
//
//	go run ./cmd/bench/charge -cost 8GiB
//
// measures what a reading costs of a container with 20 processes and so much memory: time, CPU time,
// and for how long the programs, which map a page each millisecond, have to wait at most; beside
// folio inspect of each process.
//
// It fails if a sum at rest is off by more than 2%.
package main
