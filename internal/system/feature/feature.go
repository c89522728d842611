// Package feature finds out what the running kernel can do with memory, by
// trying it in a way that changes nothing.
//
// An answer is one of three: the kernel can ([Have] returns nil), it cannot
// (an [Error], for which errors.Is(err, [ErrNotSupported]) holds), or nobody can
// tell (any other error: no /proc, a seccomp filter). Only the first two are
// kept; the third is asked again the next time. That a kernel can do something
// does not mean that this process may.
package feature

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
)

// ErrNotSupported is wrapped by every error that says that this system or its
// kernel cannot do something.
var ErrNotSupported = errors.New("not supported")

// Feature is something that not every kernel can do.
type Feature int

const (
	THP           Feature = iota // transparent huge pages on request: MADV_HUGEPAGE
	HugeTLB                      // pools of huge pages: MAP_HUGETLB
	Free                         // MADV_FREE
	Cold                         // MADV_COLD
	PageOut                      // MADV_PAGEOUT
	PopulateWrite                // MADV_POPULATE_WRITE
	Collapse                     // MADV_COLLAPSE
	PagemapScan                  // ioctl PAGEMAP_SCAN
	AnonName                     // names for anonymous memory: PR_SET_VMA_ANON_NAME
	THPSizes                     // transparent huge pages of several sizes
	count
)

// feature is what is known about a Feature beforehand.
type feature struct {
	name   string
	since  Version // of Linux
	config string  // what the kernel must be built with; "" if every kernel of that version has it
	probe  func() error
}

var features = [count]feature{
	THP:           {"MADV_HUGEPAGE", Version{2, 6, 38}, "CONFIG_TRANSPARENT_HUGEPAGE", probeTHP},
	HugeTLB:       {"MAP_HUGETLB", Version{2, 6, 32}, "CONFIG_HUGETLBFS", probeHugeTLB},
	Free:          {"MADV_FREE", Version{4, 5, 0}, "", probeFree},
	Cold:          {"MADV_COLD", Version{5, 4, 0}, "", probeCold},
	PageOut:       {"MADV_PAGEOUT", Version{5, 4, 0}, "", probePageOut},
	PopulateWrite: {"MADV_POPULATE_WRITE", Version{5, 14, 0}, "", probePopulateWrite},
	Collapse:      {"MADV_COLLAPSE", Version{6, 1, 0}, "CONFIG_TRANSPARENT_HUGEPAGE", probeCollapse},
	PagemapScan:   {"PAGEMAP_SCAN", Version{6, 7, 0}, "CONFIG_PROC_PAGE_MONITOR", probePagemapScan},
	AnonName:      {"PR_SET_VMA_ANON_NAME", Version{5, 17, 0}, "CONFIG_ANON_VMA_NAME", probeAnonName},
	THPSizes:      {"THP of several sizes", Version{6, 8, 0}, "CONFIG_TRANSPARENT_HUGEPAGE", probeTHPSizes},
}

// known keeps the conclusive answers: 0 is none, 1 yes, 2 no.
var known [count]atomic.Int32

func (f Feature) String() string { return features[f].name }

// Since returns the first version of Linux that has f, and the option that its
// kernel must be built with, "" if that is every kernel.
func (f Feature) Since() (v Version, config string) { return features[f].since, features[f].config }

// Have says whether the running kernel can do f: nil, an [*Error], or why nobody can
// tell.
func Have(f Feature) error { return have(f, &known[f], features[f].probe) }

func have(f Feature, known *atomic.Int32, probe func() error) error {
	switch known.Load() {
	case 1:
		return nil
	case 2:
		return &Error{f}
	}
	err := probe()
	switch {
	case err == nil:
		known.Store(1)
	case errors.Is(err, ErrNotSupported):
		known.Store(2)
		return &Error{f}
	default:
		return fmt.Errorf("probe for %s: %w", f, err)
	}
	return nil
}

// Error says that the kernel cannot do something. It is an [ErrNotSupported].
type Error struct{ Feature Feature }

func (e *Error) Error() string {
	since, config := e.Feature.Since()
	if config != "" {
		config = " with " + config
	}
	if runtime.GOOS != "linux" {
		return fmt.Sprintf("%s: not supported on %s: needs Linux %s or newer", e.Feature, runtime.GOOS, since)
	}
	return fmt.Sprintf("%s: not supported by this kernel: needs Linux %s or newer%s", e.Feature, since, config)
}

func (e *Error) Is(target error) bool { return target == ErrNotSupported }

// Version is a version of the kernel: major, minor, patch.
type Version [3]int

func (v Version) String() string {
	if v[2] == 0 {
		return fmt.Sprintf("%d.%d", v[0], v[1])
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
}

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

// ParseVersion parses the release that uname gives: "6.18.44-fc-v657" and
// "5.10" are versions, "#1" is none.
func ParseVersion(release string) (v Version, ok bool) {
	rest := release
	for i := range v {
		n, digits := 0, 0
		for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
			if n = n*10 + int(rest[digits]-'0'); n > 1<<20 {
				return Version{}, false
			}
			digits++
		}
		if digits == 0 {
			return v, i >= 2 // "6.18-rc1" has no patch
		}
		v[i] = n
		if rest = rest[digits:]; rest == "" || rest[0] != '.' {
			return v, i >= 1
		}
		rest = rest[1:]
	}
	return v, true
}
