// Package suggest says which call sites of a program would gain from an arena, by
// an allocation profile and by what the GC cost.
package suggest
