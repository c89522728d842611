package procmem

import (
	"errors"
	"strings"
)

// errNotCounted says that page tables do not tell what of the memory of a process is in
// memory: smaps does.
var errNotCounted = errors.New("not known by its page tables")

// BySmaps returns f with [FS.Counted] as it is before Linux 6.7: by smaps.
func (f FS) BySmaps() FS {
	f.smaps = true
	return f
}

// Counted returns the mappings of a process as [FS.Mappings] does, but holds their lock for
// about a millisecond at a time where Mappings holds it for each mapping as a whole: for 4
// GiB of base pages 40 ms or more, for which threads wait that change mappings. Rss,
// Anonymous, Huge and Swap are counted from its page tables, in pieces (PAGEMAP_SCAN). Swap
// has no pages of shared memory. What else smaps says is not filled.
//
// smaps is true where it was Mappings that was read: before Linux 6.7; where the process has
// pages of the hugetlb pool, which page tables do not tell from others; and where they have
// more than the kernel counts: before Linux 6.15 they do not tell the huge page of zeros from
// memory of the process.
func (f FS) Counted(pid int) (all []Mapping, smaps bool, err error) {
	if !f.smaps {
		if all, err = f.counted(pid); err == nil {
			return all, false, nil
		}
	}
	all, err = f.Mappings(pid) // whatever the reason was: if it goes for smaps, too, that says it
	return all, true, err
}

// counted is Counted by page tables alone.
func (f FS) counted(pid int) ([]Mapping, error) {
	p, err := openPages(f.procPath(pid, "pagemap"))
	if err != nil {
		return nil, err
	}
	defer p.Close()
	vmas, err := f.Maps(pid)
	if err != nil {
		return nil, err
	}
	before, err := f.Statm(pid)
	if err != nil {
		return nil, err
	}
	if err := f.noHugetlb(pid); err != nil {
		return nil, err
	}
	all, sum := make([]Mapping, len(vmas)), uint64(0)
	for i, v := range vmas {
		all[i].VMA = v
		if err := p.count(&all[i]); err != nil {
			return nil, err
		}
		sum += all[i].Rss
	}
	after, err := f.Statm(pid)
	if err != nil {
		return nil, err
	}
	// What the kernel counts is off by some pages for each CPU before Linux 6.16.
	const off, share = 4 << 20, 100
	if most := max(before.RSS, after.RSS); sum == 0 || sum > most+most/share+off {
		return nil, errNotCounted
	}
	if err := f.noHugetlb(pid); err != nil {
		return nil, err
	}
	return all, p.alive(all[0].Start) // after an exec its page tables are not of these mappings
}

// noHugetlb returns an error if a process has pages of the hugetlb pool.
func (f FS) noHugetlb(pid int) error {
	s, err := f.Status(pid)
	if err == nil && s.HugetlbPages != nil && *s.HugetlbPages > 0 {
		err = errNotCounted
	}
	return err
}

// private reports whether all that a mapping has in memory is the process's own.
func (v VMA) private() bool {
	return v.Inode == 0 && !v.Shared && (v.Name == "" || v.Name == "[heap]" || v.StackName() || strings.HasPrefix(v.Name, "[anon:"))
}
