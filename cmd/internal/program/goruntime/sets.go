package goruntime

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// Sets is what in a program may set its GC while it runs. The linker drops functions that
// nothing calls, so a program without them cannot.
type Sets struct {
	Percent, Limit bool     // it calls debug.SetGCPercent, debug.SetMemoryLimit
	By             []string // packages that are known to, by name
}

// setters are packages that set the GC, by the beginning of their functions' names.
var setters = map[string]string{
	"github.com/KimMachineGun/automemlimit/memlimit.": "automemlimit",
	"github.com/foliomem/folio/gctune.":               "gctune",
	"github.com/bytedance/gopkg/util/gctuner.":        "gctuner",
	"github.com/cch123/gogctuner.":                    "gogctuner",
}

func setsOf(f *symbol.File) (s Sets) {
	for fn := range f.Funcs() {
		switch fn.Name { // of package runtime, whose callers inline debug's
		case "runtime/debug.setGCPercent":
			s.Percent = true
		case "runtime/debug.setMemoryLimit":
			s.Limit = true
		}
		if !strings.HasPrefix(fn.Name, "github.com/") {
			continue
		}
		for prefix, name := range setters {
			if strings.HasPrefix(fn.Name, prefix) && !slices.Contains(s.By, name) {
				s.By = append(s.By, name)
			}
		}
	}
	slices.Sort(s.By)
	return s
}
