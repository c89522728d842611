package scratch

import "os"

// Keep keeps a new directory, in which files are written that get their names once they are
// whole, from [SweepFiles], for as long as the file is open. The file is nil where the system
// has no such locks; then nothing is swept. The error says that it was swept already.
func Keep(dir string) (*os.File, error) { return hold(dir) }

// SweepFiles removes files of such a directory whose names begin with prefix, and the
// directory if nothing else is in it, if both are this user's and nobody keeps it: whoever
// did was killed.
func SweepFiles(dir, prefix string) { sweepFiles(dir, prefix) }
