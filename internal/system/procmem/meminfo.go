package procmem

import "strconv"

// Meminfo is /proc/meminfo, as far as Folio uses it: the whole machine, also
// when read inside a container. See proc_meminfo(5).
type Meminfo struct {
	MemTotal      *uint64
	MemAvailable  *uint64 // kernel 3.14+
	SwapTotal     *uint64
	SwapFree      *uint64
	AnonHugePages *uint64 // nil when the kernel is built without THP

	// The pool of hugetlb pages of the default size; nil when the kernel is
	// built without hugetlb.
	HugePagesTotal *uint64 // pages, not bytes
	HugePagesFree  *uint64 // pages, not bytes
	HugePageSize   *uint64
}

// Meminfo reads /proc/meminfo.
func (f FS) Meminfo() (Meminfo, error) {
	return load(f.path("proc/meminfo"), parseMeminfo)
}

func parseMeminfo(data []byte) (Meminfo, error) {
	var m Meminfo
	n, err := setSizes(data, map[string]**uint64{
		"MemTotal": &m.MemTotal, "MemAvailable": &m.MemAvailable, "SwapTotal": &m.SwapTotal,
		"SwapFree": &m.SwapFree, "AnonHugePages": &m.AnonHugePages, "Hugepagesize": &m.HugePageSize,
	})
	if err == nil && n == 0 {
		err = errEmpty
	}
	if err != nil {
		return Meminfo{}, err
	}
	counts := map[string]**uint64{"HugePages_Total": &m.HugePagesTotal, "HugePages_Free": &m.HugePagesFree}
	err = eachField(data, func(key, value string) error {
		dst, ok := counts[key]
		if !ok {
			return nil
		}
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return err
		}
		*dst = &n
		return nil
	})
	if err != nil {
		return Meminfo{}, err
	}
	return m, nil
}
