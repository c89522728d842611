package procmem

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Advice is what a process asked of transparent huge pages by madvise, with
// what it has of them: sums over the mappings in /proc/PID/smaps.
type Advice struct {
	Mappings int // all of them

	// Private anonymous memory, by the flag of its mapping: MADV_HUGEPAGE,
	// MADV_NOHUGEPAGE, or neither.
	Huge, NoHuge, None Extent
}

// Extent is how much of some mappings is in memory, in bytes.
type Extent struct {
	Anonymous     uint64
	AnonHugePages uint64 // part of Anonymous
}

// Advice reads /proc/PID/smaps; pid 0 is the calling process. The kernel walks
// all page tables, and prints about a kilobyte for each mapping. A process of
// another user needs the right to ptrace it (CAP_SYS_PTRACE).
func (f FS) Advice(pid int) (Advice, error) {
	return loadBy(os.ReadFile, f.procPath(pid, "smaps"), parseAdvice)
}

// parseAdvice relies on VmFlags, the last line of each mapping (kernel 3.8+).
func parseAdvice(data []byte) (Advice, error) {
	var a Advice
	var e Extent
	for line := range bytes.Lines(data) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue
		}
		var dst *uint64
		switch string(key) {
		case "Size": // a mapping begins
			a.Mappings++
			e = Extent{}
			continue
		case "Anonymous":
			dst = &e.Anonymous
		case "AnonHugePages":
			dst = &e.AnonHugePages
		case "VmFlags":
			sum := &a.None
			for flag := range bytes.FieldsSeq(value) {
				switch string(flag) {
				case "hg":
					sum = &a.Huge
				case "nh":
					sum = &a.NoHuge
				}
			}
			sum.Anonymous += e.Anonymous
			sum.AnonHugePages += e.AnonHugePages
			continue
		default:
			continue
		}
		n, err := parseKB(string(bytes.TrimSpace(value)))
		if err != nil {
			return Advice{}, fmt.Errorf("%s of mapping %s: %w", key, strconv.Itoa(a.Mappings), err)
		}
		*dst = n
	}
	return a, nil
}
