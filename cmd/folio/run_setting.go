package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/trial"
)

// setting returns the setting of the flags.
func (f *runFlags) setting(base trial.Setting) (trial.Setting, error) {
	var err error
	if base.GOGC, err = trial.ParseGOGC(f.gogc); err != nil {
		return base, fmt.Errorf("--gogc: %w", err)
	}
	if f.memlimit != "" {
		if base.MemLimit, err = unit.ParseSize(f.memlimit); err != nil {
			return base, fmt.Errorf("--memlimit: %w", err)
		}
	}
	base.GOMAXPROCS = f.gomaxprocs
	for _, x := range []struct{ variable, flag, value string }{
		{"GOGC", "--gogc", f.gogc}, {"GOMEMLIMIT", "--memlimit", f.memlimit},
		{"GOMAXPROCS", "--gomaxprocs", strings.TrimPrefix(strconv.Itoa(f.gomaxprocs), "0")},
	} {
		if kv := f.envOf(x.variable); kv != "" && x.value != "" {
			return base, fmt.Errorf("--env %s and %s %s both set %s: give one", kv, x.flag, x.value, x.variable)
		}
	}
	return base, nil
}
