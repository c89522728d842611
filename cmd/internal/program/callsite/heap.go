package callsite

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// Frames names what is executed at a return address, innermost first.
type Frames func(pc uint64) []symbol.Frame

// Of returns the names of a process.
func Of(t *goruntime.Target) Frames {
	known := make(map[uint64][]symbol.Frame)
	return func(pc uint64) []symbol.Frame {
		f, ok := known[pc]
		if !ok {
			f = t.Frames(pc, true)
			known[pc] = f
		}
		return f
	}
}

// HeapProfile makes of a process's heap profile one in pprof's format, as
// pprof.Lookup("heap") of package runtime/pprof writes it in the program itself: with the
// same types of values, scaled from the samples in the same way.
func HeapProfile(h *goruntime.HeapProfile, frames Frames, program string, at time.Time) (*profile.Profile, error) {
	b := &builder{frames: frames, locations: map[uint64]*profile.Location{}, functions: map[function]*profile.Function{}, p: &profile.Profile{
		PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: clamp(h.Rate), TimeNanos: at.UnixNano(),
		SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"},
			{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}},
		DefaultSampleType: "inuse_space",
		Mapping:           []*profile.Mapping{{ID: 1, File: program, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}},
	}}
	for i := range h.Records {
		r := &h.Records[i]
		if r.AllocObjects == 0 {
			continue // of a cycle that is not complete
		}
		values := make([]int64, 4)
		values[0], values[1] = Scale(r.AllocObjects, r.AllocBytes, h.Rate)
		values[2], values[3] = Scale(r.AllocObjects-r.FreedObjects, r.AllocBytes-r.FreedBytes, h.Rate)
		b.p.Sample = append(b.p.Sample, &profile.Sample{Value: values, Location: b.stack(r.Stack), NumLabel: map[string][]int64{"bytes": {clamp(r.Size)}}})
	}
	if h.Moving {
		b.p.Comments = append(b.p.Comments, "read while it changed: its samples may be of different GC cycles")
	}
	if err := b.p.CheckValid(); err != nil {
		return nil, fmt.Errorf("heap profile: %w", err)
	}
	return b.p, nil
}

// Write writes a profile as go tool pprof reads it.
func Write(w io.Writer, p *profile.Profile) error {
	if err := p.Write(w); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	return nil
}

// Scale returns how many objects and bytes the samples of one size stand for: an object
// of s bytes is sampled with probability 1-exp(-s/rate).
func Scale(objects, bytes, rate uint64) (scaledObjects, scaledBytes int64) {
	if objects == 0 || bytes == 0 {
		return 0, 0
	}
	if rate <= 1 {
		return clamp(objects), clamp(bytes)
	}
	f := 1 / (1 - math.Exp(-float64(bytes)/float64(objects)/float64(rate)))
	return scaled(objects, f), scaled(bytes, f)
}

func scaled(n uint64, f float64) int64 {
	if v := float64(n) * f; v < math.MaxInt64 {
		return int64(v)
	}
	return math.MaxInt64
}

func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// builder makes a profile.
type builder struct {
	frames    Frames
	p         *profile.Profile
	locations map[uint64]*profile.Location
	functions map[function]*profile.Function
}

type function struct{ name, file string }

// maxLines bounds the lines of one location, which a program's tables can make many.
const maxLines = 100

// stack returns the locations of return addresses, without the functions of the runtime
// that allocated.
func (b *builder) stack(pcs []uint64) (out []*profile.Location) {
	for pcs = withoutRuntime(pcs, b.frames); len(pcs) > 0; {
		frames := b.frames(pcs[0])
		if len(frames) == 1 && frames[0].Func == "runtime.goexit" {
			break // below every goroutine
		}
		out = append(out, b.location(pcs[0], frames))
		pcs = pcs[physical(pcs, frames, b.frames):]
	}
	return out
}

// withoutRuntime returns the stack from the first function on that is not of the runtime;
// all of it if there is none.
func withoutRuntime(pcs []uint64, frames Frames) []uint64 {
	i := slices.IndexFunc(pcs, func(pc uint64) bool {
		f := frames(pc)
		return len(f) == 0 || !strings.HasPrefix(f[0].Func, "runtime.") && !strings.HasPrefix(f[0].Func, "internal/runtime/")
	})
	return pcs[max(i, 0):]
}

// physical returns how many addresses of a stack belong to the function of the first: the
// runtime writes one for each call that was inlined there.
func physical(pcs []uint64, inlined []symbol.Frame, frames Frames) int {
	n := 1
	for n < len(pcs) && n < len(inlined) {
		f := frames(pcs[n])
		if len(f) != len(inlined)-n || f[0].Func != inlined[n].Func || f[0].Line != inlined[n].Line {
			break
		}
		n++
	}
	return n
}

func (b *builder) location(pc uint64, frames []symbol.Frame) *profile.Location {
	if l := b.locations[pc]; l != nil {
		return l
	}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: b.p.Mapping[0], Address: pc - 1}
	for i, f := range frames {
		if i == maxLines {
			break
		}
		k := function{f.Func, f.File}
		fn := b.functions[k]
		if fn == nil {
			fn = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.Func, SystemName: f.Func, Filename: f.File, StartLine: int64(f.Start)}
			b.functions[k] = fn
			b.p.Function = append(b.p.Function, fn)
		}
		l.Line = append(l.Line, profile.Line{Function: fn, Line: int64(f.Line)})
	}
	b.locations[pc] = l
	b.p.Location = append(b.p.Location, l)
	return l
}
