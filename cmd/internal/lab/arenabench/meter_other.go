//go:build !linux

package arenabench

func read() usage { return usage{} }

func peak() uint64 { return 0 }

func residency() (resident, huge uint64) { return 0, 0 }
