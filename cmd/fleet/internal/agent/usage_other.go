//go:build !unix

package agent

func cpuSeconds() float64 { return 0 }
