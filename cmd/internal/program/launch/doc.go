// Package launch starts programs with a patch of their code (package codepatch)
// that is in their memory only: the file stays as it is.
//
// The process is traced from just before its exec until the kernel has put the
// new program into memory and before its first instruction. There the bytes
// are checked, changed in the process's own copy of their page, and read back;
// then the tracer detaches. A program that gains privileges by being executed
// is never traced: the kernel would take them away.
//
// [Program.Exec] is for a process that becomes the program. A parent that has
// a child of its own stopped at its exec (AtExec of package spawn) uses
// [Program.Apply].
package launch
