// Package saved reads result files: what run, tune, lab, inspect,
// doctor and suggest write with --json. A file that is damaged, or of a version that this one does
// not know, is refused with the reason.
package result
