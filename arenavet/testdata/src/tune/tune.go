package tune

import (
	"runtime/debug"

	"github.com/foliomem/folio/gctune"
)

func fights() {
	debug.SetGCPercent(100) // gctune takes it for the user's, and this is before
	t, err := gctune.Start(nil)
	_, _ = t, err
	debug.SetGCPercent(400)       // want `debug.SetGCPercent in a program that gctune tunes: gctune leaves GOGC alone from then on`
	debug.SetMemoryLimit(1 << 30) // want `gctune leaves the memory limit alone`
	debug.SetMemoryLimit(-1)
	debug.FreeOSMemory()
}

func stops() {
	t, err := gctune.Start(nil)
	if err != nil {
		return
	}
	t.Stop()
	debug.SetGCPercent(400)
}

func stopsInTheEnd() {
	t, err := gctune.Start(nil)
	if err != nil {
		return
	}
	defer t.Stop()
	debug.SetGCPercent(400) // want `debug.SetGCPercent in a program that gctune tunes`
}

func stopsInTheEndToo() {
	t, _ := gctune.Start(nil)
	defer func() { t.Stop() }()
	debug.SetMemoryLimit(1 << 30) // want `gctune leaves the memory limit alone`
}

func putsBack() {
	t, _ := gctune.Start(nil)
	defer func() {
		t.Stop()
		debug.SetGCPercent(100)
	}()
	defer debug.SetGCPercent(200) // when it runs is not followed
}

func other() { debug.SetGCPercent(400) }
