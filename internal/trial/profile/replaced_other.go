//go:build !linux

package where

import (
	"os"

	"github.com/foliomem/folio/internal/system/perf"
)

func replaced(os.FileInfo, *perf.Mapping) bool { return false }
