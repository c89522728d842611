package trial

import (
	"cmp"
	"slices"
)

// A Source says how a peak of memory is known.
type Source string

const (
	// Kernel: it is the kernel's own account, of all the time.
	Kernel Source = "kernel"
	// Sampled: it is the most that was seen by looking now and then. It may have
	// been more in between.
	Sampled Source = "sampled"
)

const (
	// fewLooks is how many looks at a tree of processes say nothing of its peak:
	// they are those of the first 15 ms.
	fewLooks = 4
	// trustedLooks is how many looks must have seen a peak for it to be one that
	// the next run has, too.
	trustedLooks = 3
	// keptLooks is how many looks are counted.
	keptLooks = 10
)

// peaks keeps the largest of what was seen. The zero value is ready to use.
type peaks struct {
	tops  []uint64 // descending
	looks int
}

func (p *peaks) add(bytes uint64) {
	p.looks++
	at, _ := slices.BinarySearchFunc(p.tops, bytes, func(a, b uint64) int { return cmp.Compare(b, a) })
	if at == keptLooks {
		return
	}
	p.tops = slices.Insert(p.tops, at, bytes)
	p.tops = p.tops[:min(len(p.tops), keptLooks)]
}

// most returns the largest of what was seen, or atLeast, and how many looks saw it,
// to within 5%.
func (p *peaks) most(atLeast uint64) (bytes uint64, looks int) {
	bytes = atLeast
	if len(p.tops) > 0 {
		bytes = max(bytes, p.tops[0])
	}
	for looks < len(p.tops) && p.tops[looks] >= bytes-bytes/20 {
		looks++
	}
	return bytes, looks
}
