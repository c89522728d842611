package perf

import "fmt"

// Cause is why something cannot be sampled.
type Cause string

const (
	Paranoid    Cause = "paranoid"    // perf_event_paranoid forbids it
	Denied      Cause = "denied"      // a seccomp filter or a security module does
	Foreign     Cause = "foreign"     // the process belongs to somebody else
	Gone        Cause = "gone"        // there is no such process
	Unsupported Cause = "unsupported" // the kernel or the machine cannot
	Files       Cause = "files"       // no more files can be opened
	Memory      Cause = "memory"      // no more memory can be locked
	Other       Cause = "other"
)

// Error says what cannot be sampled, why, and how to allow it.
type Error struct {
	Op    string // "sample process 7"
	Cause Cause
	Text  string // the cause and the fix, for people
	Err   error  // what the kernel said
}

func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Op, e.Text)
}

func (e *Error) Unwrap() error { return e.Err }
