package page

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// area is what smaps says of one mapping of the process, as the kernel divides
// its address space: neighbors of one kind are one.
type area struct {
	Range
	anonymous bool   // private, and no file
	huge      uint64 // bytes mapped by huge pages, other than hugetlb
	hugetlb   bool
}

// parseSmaps returns the areas of /proc/PID/smaps that overlap r, in its order.
// See proc_pid_smaps(5).
func parseSmaps(data []byte, r Range) ([]area, error) {
	var areas []area
	var current *area
	seen := false
	for line := range bytes.Lines(data) {
		text := strings.TrimSuffix(string(line), "\n")
		if a, ok := parseHeader(text); ok {
			seen = true
			current = nil
			if a.Start < r.End && r.Start < a.End {
				areas = append(areas, a)
				current = &areas[len(areas)-1]
			}
			continue
		}
		if current == nil {
			continue
		}
		key, value, _ := strings.Cut(text, ":")
		switch key {
		case "AnonHugePages", "ShmemPmdMapped", "FilePmdMapped":
			n, err := parseKB(value)
			if err != nil {
				return nil, fmt.Errorf("%s of %v: %w", key, current.Range, err)
			}
			current.huge += n
		case "VmFlags":
			for flag := range strings.FieldsSeq(value) {
				current.hugetlb = current.hugetlb || flag == "ht"
			}
		}
	}
	if !seen {
		return nil, errors.New("no mapping")
	}
	return areas, nil
}

// parseHeader parses the line that begins an area:
//
//	7f2c84000000-7f2c88000000 rw-p 00000000 00:00 0    [anon: Go: heap]
func parseHeader(line string) (area, bool) {
	const inode = 4
	fields := strings.Fields(line)
	if len(fields) <= inode {
		return area{}, false
	}
	from, to, ok := strings.Cut(fields[0], "-")
	if !ok {
		return area{}, false
	}
	start, err := strconv.ParseUint(from, 16, strconv.IntSize)
	end, err2 := strconv.ParseUint(to, 16, strconv.IntSize)
	if err != nil || err2 != nil || start >= end {
		return area{}, false
	}
	return area{
		Range:     Range{uintptr(start), uintptr(end)},
		anonymous: strings.HasSuffix(fields[1], "p") && fields[inode] == "0",
	}, true
}

// parseKB turns "   123 kB" into bytes.
func parseKB(value string) (uint64, error) {
	digits, ok := strings.CutSuffix(strings.TrimSpace(value), " kB")
	if !ok {
		return 0, fmt.Errorf("no unit kB in %q", value)
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err == nil && n > math.MaxUint64/1024/4 {
		err = strconv.ErrRange
	}
	return n * 1024, err
}
