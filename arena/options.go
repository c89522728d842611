package arena

// Options of an arena. Nil and zero fields mean the defaults.
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
