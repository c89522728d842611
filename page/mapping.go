package page

import system "github.com/foliomem/folio/internal/system/page"

// Options are the options of [Map]. nil and the zero value are the defaults.
type Options struct {
	// Kind of pages. Default: Base.
	Kind Kind
	// PageSize in bytes, one of Sizes. Default: for THP HugeSize, for HugeTLB the
	// system's (Hugepagesize in /proc/meminfo). The memory is aligned to it. For THP,
	// the kernel chooses among the allowed sizes at each page fault; sizes other than
	// HugeSize need Linux 6.8.
	PageSize int
	// Populate allocates all pages in Map, in one call to the kernel
	// (MADV_POPULATE_WRITE), which returns an error if memory is short. Before Linux
	// 5.14 Map writes to each page instead. Default: each page is allocated by a page
	// fault at its first use.
	Populate bool
	// Name appears in /proc/PID/maps as [anon:NAME] (Linux 5.17 with
	// CONFIG_ANON_VMA_NAME; otherwise ignored) and in this package's errors. It has at
	// most 79 printable ASCII characters other than []\`$. Default: none.
	Name string
}

// Mapping is memory outside the Go heap, mapped by [Map]. The package documentation says
// what it must not hold.
//
// The methods may be called concurrently if their parts of the memory do not overlap,
// except PopulateAhead and Close: PopulateAhead is for one goroutine at a time, and no
// other method may run while Close does. After Close, every method but Close panics.
//
// Offsets and lengths are in bytes; a part that is not within the mapping is an error.
type Mapping struct{ m *system.Mapping }

// Map maps size bytes of zeros, rounded up to whole pages and private to the process. If
// it fails, nothing stays mapped. The errors say why, and how to get the memory: a pool
// that is too small, a limit, a page size or kind that is not supported.
func Map(size int, o *Options) (*Mapping, error) {
	var own Options
	if o != nil {
		own = *o
	}
	commit := system.Ahead
	if own.Populate {
		commit = system.Populate
	}
	m, err := system.Map(size, &system.Options{Kind: system.Kind(own.Kind), PageSize: own.PageSize, Commit: commit, Name: own.Name})
	if err != nil {
		return nil, err
	}
	return &Mapping{m}, nil
}

// Bytes returns all of the memory. The slice is valid until Close.
func (m *Mapping) Bytes() []byte { return m.m.Bytes() }

// Len returns the size in bytes: that of Map, rounded up to whole pages.
func (m *Mapping) Len() int { return m.m.Len() }

// Kind returns the kind of pages that Map was asked for. See Residency for whether the
// memory is on huge pages.
func (m *Mapping) Kind() Kind { return Kind(m.m.Kind()) }

// PageSize returns the page size in bytes that Map was asked for, or its default. The
// memory is aligned to it.
func (m *Mapping) PageSize() int { return m.m.PageSize() }

// Range returns the addresses of the memory.
func (m *Mapping) Range() Range { return Range(m.m.Range()) }

// Populate allocates the pages of n bytes from off, without changing their contents
// (MADV_POPULATE_WRITE; before Linux 5.14 by a write to each page).
func (m *Mapping) Populate(off, n int) error { return m.m.Populate(off, n) }

// PopulateAhead makes sure that the first n bytes are populated, and populates the rest of
// the 2 MiB (or the page, if it is larger) in which they end. Use it for memory that is filled
// from its start to its end: call it with the new end before each write. Only one call in 2 MiB
// enters the kernel; the others take the time of a comparison. It does not populate again what
// was released.
func (m *Mapping) PopulateAhead(n int) error { return m.m.PopulateAhead(n) }

// Release returns the whole pages of PageSize within n bytes from off to the OS, and
// returns how many bytes that is. See [Range.Release].
func (m *Mapping) Release(off, n int, how Release, o *ReleaseOptions) (int, error) {
	return m.m.Release(off, n, system.Release(how), (*system.ReleaseOptions)(o))
}

// Collapse puts the whole windows within n bytes from off on huge pages, see
// [Range.Collapse]. Kinds other than THP return an ErrNotSupported.
func (m *Mapping) Collapse(off, n int, o *CollapseOptions) (Collapsed, error) {
	c, err := m.m.Collapse(off, n, o.system())
	return Collapsed(c), err
}

// Residency returns what the kernel has in memory for the mapping, see
// [Range.Residency].
func (m *Mapping) Residency() (Residency, error) { return residency(m.m.Residency(nil)) }

// Windows returns what the kernel has in memory for each window of the mapping, see
// [Range.Windows]. The windows of a HugeTLB mapping are its pages.
func (m *Mapping) Windows() ([]Window, error) {
	return windows(m.m.Residency(&system.ResidencyOptions{Windows: true}))
}

// Close unmaps the memory. Its bytes must not be used afterwards. If it fails, the memory
// is still mapped. Further calls do nothing.
func (m *Mapping) Close() error { return m.m.Close() }
