package autos

import (
	"runtime/debug"

	_ "github.com/foliomem/folio/auto"
)

func fights() {
	debug.SetGCPercent(400) // want `debug.SetGCPercent in a program that imports folio/auto`
	debug.SetMemoryLimit(-1)
}
