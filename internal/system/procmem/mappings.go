package procmem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Mapping is one entry of /proc/PID/smaps: a mapping and what of it is in memory,
// in bytes. See proc_pid_smaps(5).
type Mapping struct {
	VMA
	Rss       uint64
	Anonymous uint64 // of Rss: memory of the process itself, not a file's
	Huge      uint64 // of Rss: mapped by huge pages, of whatever kind
	Hugetlb   uint64 // pages of the hugetlb pool, not part of Rss
	Swap      uint64

	// The policy that the program asked for: VmFlags hg and nh, which madvise sets.
	AdviseHuge   bool
	AdviseNoHuge bool
	IsHugetlb    bool // VmFlags ht
	IsLocked     bool // VmFlags lo: mlock, mlockall
}

// Mappings reads /proc/PID/smaps; pid 0 is the calling process. The kernel walks
// all page tables of the process for it: some milliseconds per GiB of base pages.
// A process of another user needs the right to ptrace it (CAP_SYS_PTRACE).
func (f FS) Mappings(pid int) ([]Mapping, error) {
	return scan(f.procPath(pid, "smaps"), scanMappings)
}

func parseMappings(data []byte) ([]Mapping, error) { return scanMappings(bytes.NewReader(data)) }

// scanMappings does not allocate for the lines that it passes over: a process
// may have a hundred thousand mappings, of twenty-five lines each.
func scanMappings(r io.Reader) ([]Mapping, error) {
	var all []Mapping
	var b bounded
	in := lines(r)
	for in.Scan() {
		line := in.Bytes()
		if len(line) == 0 {
			continue
		}
		// Addresses are lower case, and the names of fields begin with a capital.
		if c := line[0]; '0' <= c && c <= '9' || 'a' <= c && c <= 'f' {
			v, err := parseVMA(string(line))
			if err != nil {
				return nil, fmt.Errorf("mapping %d: %w", len(all)+1, err)
			}
			if err := b.add(&v); err != nil {
				return nil, err
			}
			all = append(all, Mapping{VMA: v})
			continue
		}
		if len(all) == 0 {
			return nil, errors.New("a field before the first mapping")
		}
		if err := all[len(all)-1].set(line); err != nil {
			return nil, fmt.Errorf("mapping %d: %w", len(all), err)
		}
	}
	return all, in.Err()
}

// set takes one line "Key:   123 kB".
func (m *Mapping) set(line []byte) error {
	i := bytes.IndexByte(line, ':')
	if i < 0 {
		return fmt.Errorf("want a field, have %q", line)
	}
	var dst *uint64
	switch key, value := line[:i], line[i+1:]; string(key) {
	case "Rss":
		dst = &m.Rss
	case "Anonymous":
		dst = &m.Anonymous
	case "AnonHugePages", "ShmemPmdMapped", "FilePmdMapped":
		dst = &m.Huge
	case "Shared_Hugetlb", "Private_Hugetlb":
		dst = &m.Hugetlb
	case "Swap":
		dst = &m.Swap
	case "VmFlags":
		for flag := range bytes.FieldsSeq(value) {
			switch string(flag) {
			case "hg":
				m.AdviseHuge = true
			case "nh":
				m.AdviseNoHuge = true
			case "ht":
				m.IsHugetlb = true
			case "lo":
				m.IsLocked = true
			}
		}
		return nil
	default:
		return nil
	}
	digits, ok := bytes.CutSuffix(bytes.TrimSpace(line[i+1:]), []byte(" kB"))
	if !ok {
		return fmt.Errorf("%s: no unit kB", line[:i])
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err == nil && n > math.MaxUint64/1024/4 {
		err = errOverflow
	}
	if err != nil {
		return fmt.Errorf("%s: %w", line[:i], err)
	}
	*dst += n * 1024
	return nil
}
