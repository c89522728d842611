// Package sys has the system calls on memory that golang.org/x/sys/unix lacks,
// or has for slices only: here they take addresses, so that they work on memory
// that no slice covers. It interprets nothing: errors are the kernel's
// numbers, and what they mean is the caller's business.
package sys
