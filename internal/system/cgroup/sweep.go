package cgroup

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
)

// Sweep removes the cgroups that a folio left that was killed, and kills what is in them.
// They are where this process would make its own, or above.
func Sweep(fs procmem.FS) { sweep(fs, linux{}) }

// sweepPatience is how long a sweep waits for what it killed.
const sweepPatience = time.Second

func sweep(fs procmem.FS, k kernel) {
	var seen []string
	for _, controller := range []string{memory, cpu} {
		own, err := fs.CgroupDir(0, controller)
		if err != nil {
			continue
		}
		for _, dir := range append([]string{own.Path}, own.Above...) {
			if !slices.Contains(seen, dir) {
				seen = append(seen, dir)
				sweepDir(fs, k, dir)
			}
		}
	}
}

func sweepDir(fs procmem.FS, k kernel, dir string) {
	for _, below := range groupsBelow(dir) {
		o, what, ok := parseName(filepath.Base(below))
		switch {
		case !ok || o.alive(fs):
		case what == "self":
			_ = k.rmdir(below) // whoever is in it was no trial: it goes on
		default:
			_ = removeAll(k, below, sweepPatience)
		}
	}
}
