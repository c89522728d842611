// Package auto has the names of Folio's.
package auto

func Heap() {}
