package arena

// Options of an arena. Nil and zero fields mean the defaults.
//
// Freed slabs are kept for all arenas of the process, up to IdleBytes. Those beyond it, and
// those that stay idle for a whole GC cycle, are left to the GC like other garbage. They
// count in RSS until a GC cycle frees them and the runtime returns them to the OS: after two
// or three cycles. An idle program runs one every two minutes; debug.FreeOSMemory returns
// memory at once. Where the system has transparent huge pages, 1 MiB or more of one type
// without pointers is returned at once in any case.
//
// On Linux with transparent huge pages, slabs of 512 KiB and more (64 KiB and more when
// arenas hold more than 32 MiB) are put on huge pages before they are touched. If huge pages
// are larger than 2 MiB, these sizes grow with them. Memory for a huge page that was partly
// touched before is collapsed into one if a quarter or more of it is missing (MADV_COLLAPSE,
// Linux 6.7). [Arena.Stats] reports the result.
type Options struct {
	// Name is shown in debug reports and in Stats. Default: none.
	Name string

	// SlabBytes is the size of the largest slab, in bytes. Slabs start small and double up
	// to it; a slice that is larger gets memory of its own. It is rounded down to a power
	// of two, between 4 KiB and 64 MiB. Reused slabs of up to 64 KiB may exceed it.
	// Default: 4 MiB.
	SlabBytes int

	// IdleBytes is how much memory, in bytes, all arenas of the process together may keep
	// idle when this arena is freed. The rest of its slabs are left to the GC. Up to 32 KiB
	// for each type and P are not counted. Default: 8 MiB, more while large arenas are in
	// use or are freed and made again within a second.
	IdleBytes int

	// NoIdle keeps nothing of this arena for reuse after Free; IdleBytes is then
	// ignored. Default: keep up to IdleBytes.
	NoIdle bool

	// HugePages says whether large slabs are put on huge pages. Default:
	// HugeAuto.
	HugePages HugePages
}

// HugePages is a policy: what an arena asks of the kernel. [Stats] has the result.
type HugePages int

const (
	// HugeAuto asks for huge pages for large slabs, before they are first
	// touched. Linux only; elsewhere, and where transparent huge pages are
	// off, it does nothing.
	HugeAuto HugePages = iota
	// HugeOff asks for nothing: slabs are on the pages that the heap has anyway.
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
