package cgroup

import (
	"fmt"
	"math"
	"strconv"

	"github.com/foliomem/folio/internal/base/unit"
)

// Limits are what a cgroup allows. What is nil has no limit.
type Limits struct {
	Memory *uint64  `json:"memory_bytes"`
	CPUs   *float64 `json:"cpus"` // CPU time per time, as a container's limit of CPUs
}

const (
	// leastMemory is the smallest memory limit: the runtime of Go and the kernel's own
	// memory for a process take about as much.
	leastMemory = 4 << 20
	// leastCPUs is the smallest quota that the kernel takes: 1 ms of 100.
	leastCPUs = 0.01
	mostCPUs  = 1e6
)

// period is that of CPU quotas, in microseconds: Kubernetes and Docker have the same.
const period = 100_000

// ParseMemory reads a memory limit.
func ParseMemory(text string) (*uint64, error) {
	n, err := unit.ParseSize(text)
	switch {
	case err != nil:
		return nil, err
	case n < leastMemory:
		return nil, fmt.Errorf("%s: must be %s or more: no Go program runs in less", unit.Exact(n), unit.Exact(leastMemory))
	}
	return &n, nil
}

// CheckCPUs checks a limit of CPUs. More than the machine has is not a mistake.
func CheckCPUs(n float64) (*float64, error) {
	switch {
	case math.IsNaN(n) || n > mostCPUs:
		return nil, fmt.Errorf("%v: want a number of CPUs, such as 1.5", n)
	case n <= 0:
		return nil, fmt.Errorf("%v: must be more than 0", n)
	case n < leastCPUs:
		return nil, fmt.Errorf("%v: must be %v or more: the kernel has no smaller quota", n, leastCPUs)
	}
	return &n, nil
}

// IsZero says that nothing is limited.
func (l Limits) IsZero() bool { return l.Memory == nil && l.CPUs == nil }

// OrNil is what a result says of limits: nil for none.
func (l Limits) OrNil() *Limits {
	if l.IsZero() {
		return nil
	}
	return &l
}

// String lists the limits: "512MiB, 1.5 CPUs"; "" for none.
func (l Limits) String() string {
	text := ""
	if l.Memory != nil {
		text = unit.Exact(*l.Memory)
	}
	if l.CPUs != nil {
		if text != "" {
			text += ", "
		}
		text += strconv.FormatFloat(*l.CPUs, 'f', -1, 64) + " CPU"
		if *l.CPUs != 1 {
			text += "s"
		}
	}
	return text
}

// Flags are the flags of folio that set the limits.
func (l Limits) Flags() (out []string) {
	if l.Memory != nil {
		out = append(out, "--cgroup-memory", unit.Exact(*l.Memory))
	}
	if l.CPUs != nil {
		out = append(out, "--cgroup-cpus", strconv.FormatFloat(*l.CPUs, 'f', -1, 64))
	}
	return out
}

// quota is the CPU time per period, in microseconds.
func (l Limits) quota() int64 { return int64(math.Round(*l.CPUs * period)) }

// controllers lists what the limits need.
func (l Limits) controllers() []string {
	var out []string
	if l.Memory != nil {
		out = append(out, memory)
	}
	if l.CPUs != nil {
		out = append(out, cpu)
	}
	return out
}

// The controllers' names.
const (
	memory = "memory"
	cpu    = "cpu"
)
