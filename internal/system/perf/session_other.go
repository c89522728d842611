//go:build !linux

package perf

import "errors"

var errNotLinux = &Error{Op: "sample", Cause: Unsupported, Text: "perf events exist on Linux only", Err: errors.ErrUnsupported}

// Session samples processes. On this system there is none.
type Session struct{}

// OpenThread fails: perf events exist on Linux only.
func OpenThread(int, Config) (*Session, error) { return nil, errNotLinux }

// Attach fails: perf events exist on Linux only.
func Attach(int, Config) (*Session, error) { return nil, errNotLinux }

// OpenSystem fails: perf events exist on Linux only.
func OpenSystem(Config) (*Session, error) { return nil, errNotLinux }

// Mappings fails: there is no /proc.
func Mappings(int) ([]Mapping, error) { return nil, errNotLinux }

// Check says that perf events exist on Linux only.
func Check() error { return errNotLinux }

// Drain fails.
func (*Session) Drain(*Handler) error { return errNotLinux }

// Info returns that nothing is seen.
func (*Session) Info() Info { return Info{Reason: errNotLinux.Text} }

// Lost returns 0.
func (*Session) Lost() uint64 { return 0 }

// Faults returns 0.
func (*Session) Faults() uint64 { return 0 }

// TLBMisses returns that they are not counted.
func (*Session) TLBMisses() (uint64, bool) { return 0, false }

// Close does nothing.
func (*Session) Close() error { return nil }
