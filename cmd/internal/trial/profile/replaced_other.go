//go:build !linux

package profile

import (
	"os"

	"github.com/foliomem/folio/internal/system/perf"
)

func replaced(os.FileInfo, *perf.Mapping) bool { return false }

func same(os.FileInfo, *perf.Mapping) bool { return false }

func changedAt(os.FileInfo) int64 { return 0 }
