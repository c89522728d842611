// Package arenabench does work that is mostly the allocation of small nodes, with new
// or in an arena: binary trees, a JSON document that is decoded into nodes, and
// an ordered index.
//
// A [Work] is done with an [Allocator]. The code that uses the nodes is the
// same for all of them. What is done is checked: each Allocator must find what the
// input is known to hold, and returns a [Result] with the same sum.
//
// [Source] holds the package's own source, without Folio's arenas and with those
// of Go's experiment, as a program that depends on the standard library alone: it
// can be built wherever there is a go command that knows the experiment.
package arenabench
