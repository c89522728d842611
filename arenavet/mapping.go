package arenavet

import "github.com/foliomem/folio/arenavet/internal/flow"

// Mapping reports uses of a mapping's bytes after Close.
var Mapping = of(flow.Mapping, "mappingclose", `check for uses of a page.Mapping's bytes after Close

After Close, the bytes of a page.Mapping are unmapped: a use crashes the
program, or changes what is mapped there now.

	b := m.Bytes()
	m.Close()
	b[0] = 1 // bytes of the mapping are used after Close

Reported are uses after Close, and bytes that are returned from, or kept beyond,
the function that closes.`)
