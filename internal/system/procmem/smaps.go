package procmem

// SmapsRollup is /proc/PID/smaps_rollup: the sums over the mappings of a
// process. To answer, the kernel walks all page tables of the process and holds
// its mapping lock for reading: about a millisecond per GiB of base pages.
// See proc_pid_smaps(5).
type SmapsRollup struct {
	Rss        *uint64
	Pss        *uint64 // each page divided by how many processes map it
	PssAnon    *uint64 // of Anonymous, each page divided likewise; kernel 5.4+
	Referenced *uint64
	Anonymous  *uint64
	LazyFree   *uint64 // freed with MADV_FREE, not taken back yet; part of Rss

	AnonHugePages  *uint64 // mapped by a huge page, part of Anonymous
	ShmemPmdMapped *uint64
	FilePmdMapped  *uint64 // kernel 5.4+

	SharedHugetlb  *uint64 // not part of Rss
	PrivateHugetlb *uint64

	Swap *uint64
}

// SmapsRollup reads /proc/PID/smaps_rollup; pid 0 is the calling process.
// Kernels before 4.14 have no such file. A process of another user needs the
// right to ptrace it (CAP_SYS_PTRACE).
func (f FS) SmapsRollup(pid int) (SmapsRollup, error) {
	return loadBy(readSlowly, f.procPath(pid, "smaps_rollup"), parseSmapsRollup)
}

func parseSmapsRollup(data []byte) (SmapsRollup, error) {
	var s SmapsRollup
	n, err := setSizes(data, map[string]**uint64{
		"Rss": &s.Rss, "Pss": &s.Pss, "Pss_Anon": &s.PssAnon, "Referenced": &s.Referenced, "Anonymous": &s.Anonymous,
		"LazyFree": &s.LazyFree, "AnonHugePages": &s.AnonHugePages,
		"ShmemPmdMapped": &s.ShmemPmdMapped, "FilePmdMapped": &s.FilePmdMapped,
		"Shared_Hugetlb": &s.SharedHugetlb, "Private_Hugetlb": &s.PrivateHugetlb, "Swap": &s.Swap,
	})
	if err == nil && n == 0 {
		err = errEmpty
	}
	if err != nil {
		return SmapsRollup{}, err
	}
	return s, nil
}
