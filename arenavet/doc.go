// Package arenavet finds mistakes with arenas before they run: analysers for Folio's
// package arena, for Go's experimental one, and for page and gctune.
//
//	folio vet ./...
//	go vet -vettool=$(which folio) ./...
//
// Analyzers lists them in the form of golang.org/x/tools/go/analysis, which gopls,
// golangci-lint and other drivers take.
//
// They prefer silence to a false alarm: what they report cannot be right, unless
// the code is never reached. They follow values through variables, fields, slices,
// closures, deferred calls and calls of other functions, of other packages too, but
// not through interfaces, function values, channels or reflection. The manual
// (docs/arenavet.md) says what each does not see.
package arenavet
