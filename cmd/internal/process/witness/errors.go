package witness

import "errors"

// ErrNested says that this process runs under a listener already: whoever holds that sees
// the tree.
var ErrNested = errors.New("another process sees the programs of this tree already (seccomp listener)")

// ErrUnsupported says that there is no listener here. The errors that wrap it have the reason.
var ErrUnsupported = errors.New("the programs of a tree cannot be seen here")
