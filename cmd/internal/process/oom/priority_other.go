//go:build !linux

package oom

// goFirst and goNext have this goroutine run before others where it may.
func goFirst() (back func()) { return func() {} }
func goNext() (back func())  { return func() {} }
