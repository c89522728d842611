// Package result is what commands found: the types of their results, which they write to files
// with --json, and which are read back and checked. A file that is damaged, or of an unknown
// version, is refused with the reason.
package result
