package profile

import (
	"fmt"
	"io"
	"time"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/internal/system/perf"
)

// profiler builds a profile in pprof's format.
type profiler struct {
	c         *Collector
	p         *profile.Profile
	mappings  map[uint32]*profile.Mapping
	locations map[string]*profile.Location
	functions map[siteKey]*profile.Function
}

// WritePprof writes the samples as a compressed profile that go tool pprof and
// other viewers open, and the compiler for -pgo: functions have the line that they start
// at. Each sample has its class as a label. The values of type
// cpu are scaled as in the last [Collector.Result]; without one they are the
// samples' own.
func (c *Collector) WritePprof(w io.Writer, duration time.Duration) error {
	b := &profiler{
		c: c, mappings: make(map[uint32]*profile.Mapping), locations: make(map[string]*profile.Location),
		functions: make(map[siteKey]*profile.Function),
		p: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			DefaultSampleType: "cpu",
			PeriodType:        &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			DurationNanos:     duration.Nanoseconds(),
			TimeNanos:         time.Now().Add(-duration).UnixNano(),
		},
	}
	samples := c.sorted()
	var count, total int64
	withFaults := false
	for _, e := range samples {
		withFaults = withFaults || e.kind == perf.Fault
	}
	if withFaults {
		b.p.SampleType = append(b.p.SampleType, &profile.ValueType{Type: "faults", Unit: "count"})
	}
	for _, e := range samples {
		values := make([]int64, len(b.p.SampleType))
		if e.kind == perf.Fault {
			values[2] = int64(float64(e.period) * c.faultScale)
		} else {
			values[0] = int64(e.count)
			values[1] = int64(float64(e.period) * c.scale[flag(e.inKernel)])
			count += values[0]
			total += values[1]
		}
		b.p.Sample = append(b.p.Sample, &profile.Sample{
			Value: values, Location: b.stack(e), Label: map[string][]string{"class": {string(c.classOf(e))}},
		})
	}
	if count > 0 {
		b.p.Period = total / count
	}
	if text := c.uncertain(); text != "" {
		b.p.Comments = append(b.p.Comments, text)
	}
	if err := b.p.CheckValid(); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	if err := b.p.Write(w); err != nil {
		return fmt.Errorf("write profile: %w", err)
	}
	return nil
}

func (b *profiler) stack(e *sampled) []*profile.Location {
	var out []*profile.Location
	kernel := b.c.kernelNames(e)
	for i, n := range e.kernel {
		name := "[kernel]"
		if i < len(kernel) && kernel[i] != "" {
			name = kernel[i]
		}
		out = append(out, b.location(fmt.Sprint(n), n, []frame{{name: name}}))
	}
	for i, n := range e.user {
		out = append(out, b.location(fmt.Sprint(n), n, b.c.at(n)))
		if i == 0 {
			if f, ok := b.c.hidden(e); ok {
				// Its place is a function's start, which nothing else is at.
				out = append(out, b.location("function "+f[0].name, noPlace, f))
			}
		}
	}
	return out
}

func (b *profiler) location(key string, place uint32, inlined []frame) *profile.Location {
	if l := b.locations[key]; l != nil {
		return l
	}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1)}
	path := "unknown"
	if place != noPlace {
		at := b.c.places[place]
		l.Mapping = b.mapping(at.object)
		path = l.Mapping.File
		if at.offset > 0 && at.object != theKernel {
			l.Address = l.Mapping.Start + at.offset
		}
	}
	for _, f := range inlined {
		if f.name == "" {
			f.name = "[" + path + "]"
		}
		l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: int64(f.line)})
	}
	b.locations[key] = l
	b.p.Location = append(b.p.Location, l)
	return l
}

func (b *profiler) function(f frame) *profile.Function {
	k := siteKey{name: f.name, file: f.file}
	fn := b.functions[k]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: f.name, SystemName: f.name, Filename: f.file}
		b.functions[k] = fn
		b.p.Function = append(b.p.Function, fn)
	}
	if fn.StartLine == 0 {
		fn.StartLine = int64(f.start) // not every frame knows it
	}
	return fn
}

// mappingSize is the room that each object gets in the profile's addresses.
// The processes of a tree have the same files at different ones, so a profile
// cannot have the real ones.
const mappingSize = 1 << 40

func (b *profiler) mapping(object uint32) *profile.Mapping {
	m := b.mappings[object]
	if m == nil {
		start := uint64(object+1) * mappingSize
		m = &profile.Mapping{
			ID: uint64(len(b.p.Mapping) + 1), Start: start, Limit: start + mappingSize, File: b.c.objects[object].path,
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
		}
		b.mappings[object] = m
		b.p.Mapping = append(b.p.Mapping, m)
	}
	return m
}
