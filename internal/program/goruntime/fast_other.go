//go:build !linux

package goruntime

import "github.com/foliomem/folio/internal/system/procmem"

const fast = 0

func (t *Target) readFast(uint64, []byte) bool { return false }

func (t *Target) readPieces([]piece, []byte) bool { return false }

func numbered(procmem.FS) bool { return false }
