package arena

// Options of an arena. Nil and zero fields mean the defaults.
//
// The small slabs of an arena are reused together: a short-lived arena leaves only its 128
// bytes to the GC, and nothing if it does not escape its function. Idle memory up to 16 KiB
// for each P and type, which serves small arenas without a lock, does not count for IdleBytes,
// and up to 16 KiB more may not have been added up yet; up to 256 KiB for each that were taken
// count until the next GC cycle.
//
// Memory that would be idle beyond IdleBytes, or is idle for a whole GC cycle, is left to the
// GC. With transparent huge pages, memory without pointers is also returned to the OS at once
// if it is 1 MiB or more of one type: by a goroutine, in whole windows of huge pages. If the
// program soon asks for it again, it is kept the next time. Memory with pointers counts in RSS
// until a GC cycle frees it and the runtime returns it to the OS, like that of new: after two
// or three cycles, and an idle program has one every two minutes. debug.FreeOSMemory does it
// at once.
//
// On Linux with transparent huge pages, slabs from 512 KiB on (from 64 KiB on when arenas hold
// more than 32 MiB) are put on huge pages before they are touched; if huge pages are larger
// than 2 MiB, these sizes grow with them. If part of a window was touched before, and a
// quarter or more of it was not, the window is collapsed once (MADV_COLLAPSE, Linux 6.7).
// [Arena.Stats] reports the result.
type Options struct {
	// Name is shown in debug reports and in Stats. Default: none.
	Name string

	// SlabBytes is the size of the largest slab, in bytes. Slabs start small
	// and double up to it; a slice that is larger gets memory of its own.
	// Rounded down to a power of two, between 4 KiB and 64 MiB; slabs of up to 64
	// KiB that are reused may be larger than that. Default: 4 MiB.
	SlabBytes int

	// IdleBytes bounds what all arenas of the process together keep for reuse
	// after Free, in bytes: this arena's slabs are left to the GC at once where
	// they would be idle beyond it (up to 64 KiB of small ones of each type
	// displace idle large slabs instead), and large ones without pointers are returned to
	// the OS. Default: 8 MiB, or as much as arenas of 1 MiB or
	// more hold now, if that is more; and what was dropped so and asked for again
	// within a second, until half a second passes in which it is not needed.
	// Large slabs that the GC has not freed yet are reused beyond the bound.
	IdleBytes int

	// NoIdle keeps nothing of this arena for reuse after Free; IdleBytes is then
	// ignored. Default: keep up to IdleBytes.
	NoIdle bool

	// HugePages says whether large slabs are put on huge pages. Default:
	// HugeAuto.
	HugePages HugePages
}

// HugePages is a policy: what is asked of the kernel. What came of it is in
// Stats.
type HugePages int

const (
	// HugeAuto asks for huge pages for large slabs, before they are first
	// touched. Linux only; elsewhere, and where transparent huge pages are
	// off, it does nothing.
	HugeAuto HugePages = iota
	// HugeOff leaves the heap as the runtime made it.
	HugeOff
)

// String returns the name of the policy.
func (p HugePages) String() string {
	switch p {
	case HugeAuto:
		return "auto"
	case HugeOff:
		return "off"
	}
	return "unknown"
}

const (
	defaultIdleBytes = 8 << 20
	defaultSlabBytes = 4 << 20
	maxSlabBytes     = 64 << 20
)

// settings are options with the defaults filled in, shared by all arenas that
// are made without options.
type settings struct {
	name     string
	maxClass class
	maxBytes uintptr
	idle     int64 // negative: the default bound
	huge     bool
}

var defaults = *resolve(nil)

func resolve(o *Options) *settings {
	if o == nil {
		o = &Options{}
	}
	s := &settings{name: o.Name, maxBytes: defaultSlabBytes, idle: -1, huge: o.HugePages == HugeAuto}
	if o.SlabBytes != 0 {
		s.maxBytes = uintptr(min(max(o.SlabBytes, 4<<10), maxSlabBytes))
	}
	s.maxClass = classBelow(s.maxBytes)
	s.maxBytes = s.maxClass.bytes()
	switch {
	case o.NoIdle:
		s.idle = 0
	case o.IdleBytes > 0:
		s.idle = int64(o.IdleBytes)
	}
	return s
}
