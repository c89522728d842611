// Package arenavet finds mistakes with arenas at compile time: analyzers for Folio's
// package arena, for Go's experimental one, and for page and gctune.
//
//	folio vet ./...
//	go vet -vettool=$(which folio) ./...
//
// A finding names the place and the mistake:
//
//	main.go:11:4: memory of the arena is used after Free in line 10
//
// [Analyzers] returns them in the form of golang.org/x/tools/go/analysis, which gopls,
// golangci-lint and other drivers take.
//
// They report only what is certain: code that is wrong whenever it is reached. They follow
// values through variables, fields, slices, closures, deferred calls and calls of other
// functions, including those of other packages, but not through interfaces, function values,
// channels or reflection. https://github.com/foliomem/folio/blob/main/docs/arenavet.md lists
// what each does not detect.
package arenavet
