// Package arenavet finds mistakes with arenas at compile time: analyzers for Folio's
// package arena, for Go's experimental one, and for page and gctune.
//
//	go install github.com/foliomem/folio/cmd/folio@latest # into $(go env GOPATH)/bin
//	folio vet ./...
//	go vet -vettool=$(which folio) ./... # the same
//
// A finding names the place and the mistake:
//
//	main.go:11:4: memory of the arena is used after Free in line 10
//
// [Analyzers] returns them in the form of golang.org/x/tools/go/analysis, which gopls,
// golangci-lint and other drivers take. A checker of your own:
//
//	package main
//
//	import (
//		"github.com/foliomem/folio/arenavet"
//		"golang.org/x/tools/go/analysis/multichecker"
//	)
//
//	func main() {
//		multichecker.Main(arenavet.Analyzers()...) // append yours
//	}
//
// Append and Free report gains that are lost; the others report only code that is wrong whenever
// it is reached:
//
//	if early {
//		a.Free()
//	}
//	n.X = 1 // not reported: right if early is false
//
// They follow values through variables, fields, slices, maps, interfaces, closures, deferred
// calls and calls of other functions, including those of other packages. They do not follow
// what a call of an interface method or a function value returns, what a channel delivers, or
// reflection. https://github.com/foliomem/folio/blob/main/docs/arenavet.md lists what each
// does not detect.
//
// It needs Go 1.26 or newer.
package arenavet
