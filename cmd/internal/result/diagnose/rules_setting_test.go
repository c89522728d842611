package diagnose

import "github.com/foliomem/folio/cmd/internal/program/goruntime"

// firingSettings is firing for settings of the environment.
var firingSettings = []fires{
	{"a GOGC that Go does not read", k515, func(w *world) {
		w.runtimes(func(_ int, s *goruntime.State) { s.Percent = new(100) })
		w.change("proc/4242/environ", "GOMEMLIMIT=1800MiB", "GOMEMLIMIT=1800MiB\x00GOGC=200%")
	}, "warning go-setting-ignored", []string{"GOGC=200%", "ignores this value and uses 100", "GOGC=200"}},
	{"a GOGC that Go does not read, and another that the program set", k515, func(w *world) {
		w.runtimes(func(_ int, s *goruntime.State) { s.Percent = new(300) })
		w.change("proc/4242/environ", "GOMEMLIMIT=1800MiB", "GOMEMLIMIT=1800MiB\x00GOGC=200%")
	}, "", nil},
	{"a GOMAXPROCS that Go does not read", k515, func(w *world) {
		w.change("proc/4242/environ", "GOMEMLIMIT=1800MiB", "GOMEMLIMIT=1800MiB\x00GOMAXPROCS=1.5")
	}, "warning go-setting-ignored", []string{"GOMAXPROCS=1.5", "ignores this value", "such as GOMAXPROCS=2", "unset GOMAXPROCS"}},
	{"a setting of GODEBUG that no Go has", k515, func(w *world) {
		w.change("proc/4242/environ", "HOME=/", "GODEBUG=gctrace=0,madvdontned=1")
	}, "note go-setting-ignored", []string{"GODEBUG=madvdontned=1", "no version of Go has this setting", "write GODEBUG=madvdontneed=1"}},
	{"a setting of GODEBUG that this Go does not have", k515, func(w *world) {
		w.version = "go1.24.13"
		w.change("proc/4242/environ", "HOME=/", "GODEBUG=containermaxprocs=0")
	}, "note go-setting-ignored", []string{"go1.24.13 does not know this setting: Go 1.25 and later do", "Take it out of GODEBUG"}},
	{"a setting of GODEBUG that is not a number", k515, func(w *world) {
		w.change("proc/4242/environ", "HOME=/", "GODEBUG=gctrace=on")
	}, "warning go-setting-ignored", []string{"GODEBUG=gctrace=on", "ignores this value"}},
	{"another GOGC than the environment asks for", k515, func(w *world) {
		w.runtimes(func(_ int, s *goruntime.State) { s.Percent = new(300) })
		w.change("proc/4242/environ", "HOME=/", "GOGC=50")
	}, "note go-setting-overridden", []string{"GOGC=50 is not in effect: the program runs with GOGC=300", "debug.SetGCPercent"}},
	{"the GOGC that the environment asks for", k515, func(w *world) {
		w.runtimes(func(_ int, s *goruntime.State) { s.Percent = new(50) })
		w.change("proc/4242/environ", "HOME=/", "GOGC=050")
	}, "", nil},
	{"another GOMEMLIMIT than the environment asks for", k515, func(w *world) {
		w.runtimes(func(_ int, s *goruntime.State) { s.Limit = new(int64(1 << 30)) })
	}, "note go-setting-overridden", []string{"GOMEMLIMIT=1800MiB is not in effect: the program runs with GOMEMLIMIT=1GiB", "debug.SetMemoryLimit"}},
}
