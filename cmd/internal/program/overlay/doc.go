// Package overlay patches Go's standard library for one build: nothing of the toolchain
// is changed, no fork is kept. `go build -overlay` replaces files of a build by others;
// this package makes those others out of the user's own toolchain, by patches that are
// data (the files in patches/).
//
// # Safety
//
// A patch says for which versions of Go it was written, and finds each place by text
// that must stand in the file exactly as often as the patch says. Anything else is a
// [*RefusedError] that names the version, the file and the text, and nothing is built:
// there is no half-patched build, and none that was silently left as it was. What was
// patched is linked into the program, where [ReadFile] finds it, also in a stripped one.
//
// The patched files live in the user's cache directory, below folio/overlay, in a
// directory for each toolchain and set of patches. They are rendered anew for each build
// and compared: what somebody changed there is never built.
//
// -overlay is in Go since 1.16. The standard library is no special case to it, but its
// files must be named by their true paths: GOROOT is asked of the toolchain that go.mod
// and GOTOOLCHAIN choose.
package overlay
