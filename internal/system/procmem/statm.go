package procmem

import (
	"errors"
	"math/bits"
)

// Statm is /proc/PID/statm in bytes. A zombie and a kernel thread have no
// memory: all are 0. Pages of the hugetlb pool are in Size but never in RSS.
type Statm struct {
	Size   uint64 // address space
	RSS    uint64 // resident
	Shared uint64 // resident pages of files and shared memory, part of RSS
}

// Statm reads /proc/PID/statm; pid 0 is the calling process.
func (f FS) Statm(pid int) (Statm, error) {
	page := f.PageSize()
	return load(f.procPath(pid, "statm"), func(data []byte) (Statm, error) {
		return parseStatm(data, page)
	})
}

// parseStatm does not allocate: a sampler calls it for each process and tick.
func parseStatm(data []byte, page int) (Statm, error) {
	var v [3]uint64
	for i := range v {
		var ok bool
		if v[i], data, ok = cutUint(data); !ok {
			return Statm{}, errors.New("want 3 or more numbers")
		}
		hi, lo := bits.Mul64(v[i], uint64(page))
		if hi != 0 {
			return Statm{}, errOverflow
		}
		v[i] = lo
	}
	return Statm{Size: v[0], RSS: v[1], Shared: v[2]}, nil
}

// cutUint takes a decimal number off the front of data, and the white space
// around it.
func cutUint(data []byte) (v uint64, rest []byte, ok bool) {
	i := 0
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	start := i
	for ; i < len(data) && '0' <= data[i] && data[i] <= '9'; i++ {
		hi, lo := bits.Mul64(v, 10)
		sum, carry := bits.Add64(lo, uint64(data[i]-'0'), 0)
		if hi != 0 || carry != 0 {
			return 0, nil, false
		}
		v = sum
	}
	if i == start || i < len(data) && !isSpace(data[i]) {
		return 0, nil, false
	}
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return v, data[i:], true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
