// Package memlimit works out which GOMEMLIMIT fits into the memory limit of a container: what
// the container may have, less what is charged to it outside the Go runtime, less a margin.
package memlimit

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// A Container is the memory limit in effect, and what is charged to its level, in bytes.
type Container struct {
	Limit uint64
	Level string // the cgroup whose limit it is
	// Fixed is what is charged and the kernel cannot take back; nil for not known. Shared, with
	// tmpfs, and Kernel are parts of it.
	Fixed          *uint64
	Shared, Kernel uint64
}

// A Runtime is a Go runtime in a container.
type Runtime struct {
	PID  int
	Name string
	// Resident is what GOMEMLIMIT counts of the runtime and is in memory.
	Resident uint64
	// Needs is what no GC cycle can free of it: the live heap, stacks, metadata. Live is the live heap
	// and stacks alone.
	Needs, Live uint64
	Limit       uint64 // GOMEMLIMIT; 0 for none
}

const (
	// The margin is a twentieth: the runtime passes its limit for a moment while it collects, and
	// page tables and other memory of the kernel grow with the heap.
	marginShare = 20
	minMargin   = 8 << 20
	maxMargin   = 1 << 30
	// leastPart is the reciprocal of the least part of a container that is worth a limit: with
	// less, something else has the memory.
	leastPart = 4
	// minRoom is the least that a limit must leave above what cannot be freed.
	minRoom = 4 << 20
)

// Margin is what is left free of a container.
func Margin(limit uint64) uint64 { return min(max(limit/marginShare, minMargin), maxMargin) }

// Least is the least limit that helps: with less the GC would run all the time.
func Least(own Runtime) uint64 { return own.Needs + max(own.Needs/20, minRoom) }

// A Fit is how a Go program fits into its container.
type Fit struct {
	Container
	Own    Runtime
	Others []Runtime // further Go runtimes of the container
	// Outside is what is charged outside all Go runtimes.
	Outside uint64
	Margin  uint64
	// Most is the largest GOMEMLIMIT that fits, where the other runtimes have theirs or an equal
	// share of what is left; 0 if none helps.
	Most uint64
	// Fits is that limit even if it does not help.
	Fits uint64
	// Shares is how many runtimes share what is left, this one included.
	Shares int

	each uint64 // that a runtime which shares gets beyond what it needs
}

// Fit works out which limit fits. outside is what the process alone has in memory outside its
// runtime: it counts where Fixed is not known.
func (c Container) Fit(own Runtime, outside uint64, others ...Runtime) Fit {
	f := Fit{Container: c, Own: own, Others: others, Outside: outside, Margin: Margin(c.Limit), Shares: 1}
	if c.Fixed != nil {
		f.Outside = *c.Fixed - min(*c.Fixed, own.Resident)
		for _, o := range others {
			f.Outside -= min(f.Outside, o.Resident)
		}
	}
	left := over(c.Limit, f.Outside+f.Margin)
	// A runtime with a limit below its share keeps it: the others have more.
	small := make([]bool, len(others))
	for again := true; again; {
		again = false
		f.Shares = 1
		rest := left
		for i, o := range others {
			if small[i] {
				rest = over(rest, o.Limit)
			} else {
				f.Shares++
			}
		}
		for i, o := range others {
			if !small[i] && o.Limit > 0 && o.Limit <= rest/uint64(f.Shares) {
				small[i], again = true, true
			}
		}
		if !again {
			left = rest
		}
	}
	live := own.Live
	for i, o := range others {
		if !small[i] {
			live += o.Live
		}
	}
	f.Fits = min(left, uint64(float64(left)*(float64(own.Live)/float64(max(live, 1)))))
	if live < left {
		f.each = (left - live) / uint64(f.Shares)
		f.Fits = own.Live + f.each
		f.Most = whole(f.Fits)
	}
	f.Fits = whole(f.Fits)
	if f.Most < Least(own) || f.Most < c.Limit/leastPart/uint64(f.Shares) {
		f.Most = 0
	}
	return f
}

// Breaks says that a memory limit of the program does not keep it within the container: with
// what the other runtimes may have, and with all that is outside, it comes to more. Half the
// margin counts as used.
func (f Fit) Breaks(limit uint64) bool {
	sum := limit
	for _, o := range f.Others {
		sum += max(o.Limit, o.Resident)
	}
	return limit > f.Limit || sum > f.Limit || sum+f.Outside > f.Limit-min(f.Limit, f.Margin/2)
}

// Setting is the GOMEMLIMIT that fits; "" if none helps.
func (f Fit) Setting() string {
	if f.Most == 0 {
		return ""
	}
	return "GOMEMLIMIT=" + unit.Exact(f.Most)
}

// Reason says where the number comes from, or why no limit helps, as a sentence.
func (f Fit) Reason() string {
	if f.Most == 0 {
		elsewhere := f.Outside
		for _, o := range f.Others {
			elsewhere += o.Resident
		}
		if elsewhere < f.Limit/2 {
			return fmt.Sprintf("No limit helps: the Go runtime needs %s now, and %s are elsewhere%s, of %s.",
				unit.Size(f.Own.Needs), unit.Size(elsewhere), f.parts(), unit.Size(f.Limit))
		}
		return fmt.Sprintf("No limit helps: %s of %s are elsewhere%s.", unit.Size(elsewhere), unit.Size(f.Limit), f.parts())
	}
	text := fmt.Sprintf("%s less %s outside the Go runtime%s, less a margin of %s", unit.Size(f.Limit), unit.Size(f.Outside), f.parts(), unit.Size(f.Margin))
	if f.Shares > 1 {
		text += fmt.Sprintf(", shared by %d Go programs", f.Shares)
	}
	for _, o := range f.Others {
		if most := whole(o.Live + f.each); o.PID != 0 && (o.Limit == 0 || o.Limit > most) {
			text += fmt.Sprintf("; process %d (%s) needs GOMEMLIMIT=%s as well", o.PID, o.Name, unit.Exact(most))
		}
	}
	return text + "."
}

// parts names what is outside, in brackets; "" for nothing worth a name.
func (f Fit) parts() string {
	var parts []string
	add := func(bytes uint64, format string) {
		if bytes >= minRoom {
			parts = append(parts, fmt.Sprintf(format, unit.Size(bytes)))
		}
	}
	shared, kernel := min(f.Shared, f.Outside), min(f.Kernel, f.Outside)
	add(shared, "%s tmpfs and other shared memory")
	add(over(f.Outside, shared+kernel), "%s other memory of processes")
	add(kernel, "%s of the kernel")
	var runtimes uint64
	for _, o := range f.Others {
		runtimes += o.Resident
	}
	if f.Most == 0 {
		add(runtimes, "%s other Go runtimes")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// whole rounds down to MiB, or KiB where that would be much.
func whole(bytes uint64) uint64 {
	if bytes < 9<<20 {
		return bytes &^ (1<<10 - 1)
	}
	return bytes &^ (1<<20 - 1)
}

// over is by how much a is more than b.
func over(a, b uint64) uint64 { return a - min(a, b) }
