//go:build go1.19

package main

import "runtime/debug"

func init() { limit = func() { debug.SetMemoryLimit(1 << 40) } }
