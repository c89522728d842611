package resulttest

import (
	"time"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/result"
)

// Charge is what a container of a program and a helper is charged for, with tmpfs that nobody maps.
func Charge(name string) *result.Charge {
	const mib = 1 << 20
	n := func(v uint64) *uint64 { return &v }
	f := result.NewCharge("v0.0.0", &charge.Charge{
		Dir: "/sys/fs/cgroup/kubepods/" + name, Unified: true, Usage: 700 * mib, Limit: n(1 << 30), Moved: 4096,
		Parts: []charge.Part{
			{Kind: "go_live", Bytes: 150 * mib, Back: charge.No, How: waterfall.Read}, {Kind: "go_unused", Bytes: 30 * mib, Back: charge.No, How: waterfall.Read},
			{Kind: charge.Undivided, Bytes: 4 * mib, Back: charge.No, How: waterfall.Read},
			{Kind: charge.Unsplit, Bytes: 100 * mib, Back: charge.Yes, How: waterfall.Computed},
			{Kind: charge.SharedMapped, Bytes: 20 * mib, Back: charge.No, How: waterfall.Read},
			{Kind: charge.SharedUnmapped, Bytes: 240 * mib, Back: charge.No, How: waterfall.Computed,
				Of: []waterfall.Share{{Name: "/cache-of-" + name, Bytes: 240 * mib}, {Name: "/memfd:" + name + ", open in process 7", Bytes: 1 * mib}}},
			{Kind: charge.CacheInactive, Bytes: 90 * mib, Back: charge.Yes, How: waterfall.Read}, {Kind: charge.CacheActive, Bytes: 40 * mib, Back: charge.Yes, How: waterfall.Read},
			{Kind: charge.PageTables, Bytes: 2 * mib, Back: charge.No, How: waterfall.Read}, {Kind: charge.KernelOther, Bytes: 16 * mib, Back: charge.Partly, How: waterfall.Remainder},
		},
		Unexplained: 8 * mib, Reserve: mib, Dirty: n(12 * mib), Writeback: n(0), Mapped: n(26 * mib), LazyFree: 3 * mib,
		Apart: []charge.Apart{{Kind: charge.ApartRings, Bytes: 64 * mib}, {Kind: charge.ApartFiles, Bytes: 5 * mib}}, Swap: n(7 * mib),
		Advice: []charge.Advice{{Kind: charge.SharedUnmapped, Bytes: 240 * mib, What: "240MiB of tmpfs and shared memory are mapped by no process of the cgroup: /cache-of-" + name + " 240MiB.",
			Means: "No process has it in RSS, and it stays charged when processes end.", Do: "Delete files of tmpfs. See which there are:", Code: "du -a /cache-of-" + name}},
		Processes: []charge.Process{
			{PID: 1234, Command: []string{name, "-x"}, Name: name, UID: new(1000), IsGo: new(true), GoVersion: "go1.26.8", RSS: 200 * mib, Anonymous: n(180 * mib),
				File: n(20 * mib), Shared: n(0), Waterfall: MemoryParts()},
			{PID: 7, Name: "helper", RSS: 25 * mib, Anonymous: n(4 * mib), File: n(mib), Shared: n(20 * mib), Why: "its parts may not be read by " + name},
		},
		Took: 30 * time.Millisecond, Notes: []string{"1 of 2 processes could not be read as a whole: process 7: its parts may not be read by " + name},
	})
	f.Created = Created
	return f
}
