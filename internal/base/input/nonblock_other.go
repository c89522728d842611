//go:build !unix

package input

const nonblock = 0
