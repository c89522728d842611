package diagnose

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// contains puts the process into a container of so many MiB. Its runtime has so much in memory,
// and a GOMEMLIMIT; so much is charged in all, of which shared is tmpfs.
func (w *world) contains(container, runtime, limit, charged, shared int) {
	w.noLimit()
	w.runtimes(func(_ int, s *goruntime.State) { s.Limit, s.Marked = new(int64(limit<<20)), new(uint64(runtime<<20/2)) })
	w.parts(map[waterfall.Kind]int64{waterfall.Live: int64(runtime / 2), waterfall.Since: int64(runtime - runtime/2)})
	w.write(service+"memory.max", fmt.Sprintln(container<<20))
	w.write(service+"memory.current", fmt.Sprintln(charged<<20))
	w.write(service+"memory.stat", fmt.Sprintf("anon %d\nfile %d\nshmem %d\nkernel 0\ninactive_file 0\n", (charged-shared)<<20, shared<<20, shared<<20))
}

// firingLimits is firing for the limits of program and container.
var firingLimits = []fires{
	{"no limit", k510, func(w *world) { w.unlimited() }, "warning go-no-memory-limit",
		[]string{"2.000GiB", "GOMEMLIMIT=1945MiB", "no memory limit"}},
	{"no limit, and little of the memory is the GC's", k510, func(w *world) {
		w.noLimit()
		w.runtimes(func(i int, s *goruntime.State) { unlimited(i, s); s.Held = new(uint64(8 << 20)) })
	}, "note go-no-memory-limit", []string{"Now the Go runtime holds 8.000MiB of ", "most of the memory is not the GC's"}},
	{"no limit, and the memory is the GC's", k510, func(w *world) {
		w.noLimit()
		w.runtimes(func(i int, s *goruntime.State) { unlimited(i, s); s.Held = new(uint64(1 << 30)) })
	}, "warning go-no-memory-limit", nil},
	{"no limit, and no container", k61, func(w *world) { w.unlimited() }, "", nil},
	{"a limit above the machine's memory", k510, func(w *world) {
		w.unlimited()
		w.write("sys/fs/cgroup/memory/system.slice/orders.service/memory.limit_in_bytes", "171798691840\n")
	}, "", nil},
	{"the environment is not all", k515, func(w *world) { w.change("proc/4242/environ", "GOMEMLIMIT=1800MiB", "A=b") }, "", nil},
	{"only the environment", k515, func(w *world) {
		w.noState = goruntime.ErrNoDebugInfo
		w.change("proc/4242/environ", "GOMEMLIMIT=1800MiB", "GOMEMLIMIT=off")
	}, "warning go-no-memory-limit", []string{"debug.SetMemoryLimit", "GOMEMLIMIT=off"}},
	{"no limit before 1.19", k515, func(w *world) {
		w.version = "go1.18.10"
		w.states = []goruntime.State{{}}
		w.change("proc/4242/environ", "GOMEMLIMIT", "X")
	},
		"warning go-no-memory-limit", []string{"Go 1.19 or newer"}},
	{"limit above", k618, func(w *world) {
		w.noLimit()
		w.runtimes(func(_ int, s *goruntime.State) { s.Limit = new(int64(3 << 30)) })
	},
		"problem go-limit-above-container", []string{"3.000GiB", "2.000GiB"}},
	{"limit above, by the environment", k515, func(w *world) {
		w.noState = goruntime.ErrNoDebugInfo
		w.change("proc/4242/environ", "GOMEMLIMIT=1800MiB", "GOMEMLIMIT=3GiB")
	}, "problem go-limit-above-container", []string{"GOMEMLIMIT=3GiB"}},
	{"100% of the container", k68, func(w *world) { w.contains(192, 100, 192, 127, 0) }, "problem go-limit-above-container",
		[]string{"192.0MiB, is 100.0% of the container's 192.0MiB, with 27.00MiB outside", "GOMEMLIMIT=155MiB", "27.00MiB other memory of processes"}},
	{"99% of the container", k68, func(w *world) { w.contains(192, 100, 190, 127, 0) }, "problem go-limit-above-container",
		[]string{"is 99.0% of the container's", "GOMEMLIMIT=155MiB"}},
	{"78% of the container", k68, func(w *world) { w.contains(192, 100, 150, 127, 0) }, "", nil},
	{"99% of a large container", k68, func(w *world) { w.contains(1000, 600, 990, 605, 0) }, "problem go-limit-above-container", []string{"GOMEMLIMIT=945MiB"}},
	{"70 MiB outside the runtime", k68, func(w *world) { w.contains(192, 100, 150, 170, 0) }, "problem go-limit-above-container",
		[]string{"GOMEMLIMIT=112MiB", "192.0MiB less 70.00MiB outside the Go runtime"}},
	{"two runtimes", k68, func(w *world) {
		w.contains(900, 100, 800, 210, 0)
		w.others = []memlimit.Runtime{{PID: 43, Name: "other", Resident: 100 << 20, Needs: 50 << 20, Live: 50 << 20, Limit: 800 << 20}}
	}, "problem go-limit-above-container", []string{"GOMEMLIMIT=422MiB", "less 10.00MiB outside the Go runtime", "shared by 2 Go programs",
		"process 43 (other) needs GOMEMLIMIT=422MiB as well", "memory limit 800.0MiB, in memory 100.0MiB"}},
	{"two runtimes that fit", k68, func(w *world) {
		w.contains(900, 100, 422, 210, 0)
		w.others = []memlimit.Runtime{{PID: 43, Name: "other", Resident: 100 << 20, Needs: 50 << 20, Live: 50 << 20, Limit: 422 << 20}}
	}, "", nil},
	{"240 of 300 MiB in tmpfs", k68, func(w *world) { w.contains(300, 20, 1<<30, 263, 240); w.runtimes(unlimited) }, "warning go-no-memory-limit",
		[]string{"No limit helps: 243.0MiB of 300.0MiB are elsewhere (240.0MiB tmpfs and other shared memory)"}},
	{"240 of 300 MiB in tmpfs, nearly full", k68, func(w *world) { w.contains(300, 50, 270, 293, 240) }, "problem go-limit-above-container, warning container-full",
		[]string{"No limit helps", "240.0MiB tmpfs"}},
}
