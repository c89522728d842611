//go:build !linux

package main

// goFirst has this goroutine run before others where it may.
func goFirst() {}
