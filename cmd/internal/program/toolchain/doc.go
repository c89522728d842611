// Package toolchain finds releases of Go, and downloads those that are not there into a
// cache of folio's own: the user's module cache stays as his own builds leave it. It knows
// which experiments a toolchain has, and which levels of GOAMD64 this CPU can run.
package toolchain
