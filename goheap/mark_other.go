//go:build !gc

package goheap

func marking() bool { return false }
