package remedy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/advice"
)

const mib = 1 << 20

// process makes facts of parts in MiB, of a Go program with defaults.
func process(parts map[waterfall.Kind]int64) *Facts {
	w := &waterfall.Waterfall{GC: &waterfall.GC{Percent: 100}}
	for k := range waterfall.Kinds {
		if n, ok := parts[k]; ok {
			part := waterfall.Part{Kind: k, Bytes: n * mib}
			if k <= waterfall.Metadata && k != waterfall.Rounding {
				part.Runtime = new(uint64(max(n, 0) * mib))
			}
			w.Parts = append(w.Parts, part)
			w.RSS += uint64(max(n, 0) * mib)
		}
	}
	return &Facts{Waterfall: w, GoVersion: "go1.26.8", PID: 42}
}

func fills() advice.Facts {
	return advice.Facts{Enabled: "always", Defrag: "defer", MaxPtesNone: new(511), WindowPages: 512}
}

func TestRules(t *testing.T) {
	type parts = map[waterfall.Kind]int64
	with := func(f *Facts, change func(*Facts)) *Facts { change(f); return f }
	for _, c := range []struct {
		name string
		f    *Facts
		want string // rule: MiB, MiB beyond; in the order of what is said
		code string // in the first one
	}{
		{"no waterfall", &Facts{}, "", ""},
		{"a tiny process", process(parts{waterfall.Live: 2, waterfall.Since: 2, waterfall.Text: 3}), "", ""},
		{"a part that is small beside the others", process(parts{waterfall.Live: 1000, waterfall.ThreadStacks: 49}), "go-live-heap 1000 1000", "folio inspect --heap heap.pprof 42"},
		// The live heap of 100 MiB may have 25 of garbage, with 1 MiB of stacks.
		{"much garbage", process(parts{waterfall.Live: 100, waterfall.Since: 90, waterfall.Stacks: 1}),
			"go-memory-limit 65 65, go-gogc 39 25, go-live-heap 100 100", ""},
		{"a limit that is low already", with(process(parts{waterfall.Live: 100, waterfall.Since: 90}), func(f *Facts) { f.Waterfall.GC.Limit = new(uint64(120 * mib)) }),
			"go-gogc 40 40, go-live-heap 100 100", ""},
		{"a limit that is too high", with(process(parts{waterfall.Live: 20, waterfall.Since: 90}), func(f *Facts) { f.Waterfall.GC.Limit = new(uint64(120 * mib)); f.Waterfall.GC.Percent = 50 }),
			"go-memory-limit 74 74, go-live-heap 20 20", "folio set --memlimit 36MiB 42"},
		{"GOGC off", with(process(parts{waterfall.Live: 50, waterfall.Since: 500}), func(f *Facts) { f.Waterfall.GC.Percent = -1; f.Waterfall.GC.Limit = new(uint64(60 * mib)) }),
			"go-gogc 450 450, go-live-heap 50 50", "folio set --gogc 100 42"},
		{"GOGC 400", with(process(parts{waterfall.Live: 50, waterfall.Since: 190}), func(f *Facts) { f.Waterfall.GC.Percent = 400; f.Waterfall.GC.Limit = new(uint64(60 * mib)) }),
			"go-gogc 140 140, go-live-heap 50 50", "folio set --gogc 100 42"},
		// Both can return the same.
		{"free pages", with(process(parts{waterfall.Live: 50, waterfall.Since: 10, waterfall.Free: 500}), func(f *Facts) { f.Waterfall.GC.Percent = 10 }),
			"go-free-memory 510 510, go-memory-limit 494 0, go-live-heap 50 50", "debug.FreeOSMemory()"},
		{"fragmentation", process(parts{waterfall.Live: 10, waterfall.Unused: 100}), "go-fragmentation 100 100, go-live-heap 10 10", ""},
		{"khugepaged", with(process(parts{waterfall.Live: 10, waterfall.Repopulated: 100, waterfall.Rounding: 30}), func(f *Facts) { f.THP = fills() }),
			"go-returned-memory 130 130, go-live-heap 10 10", "max_ptes_none"},
		{"huge page faults", process(parts{waterfall.Live: 10, waterfall.Repopulated: 100}), "go-returned-memory 100 100, go-live-heap 10 10", "GODEBUG=disablethp=1"},
		{"stacks", process(parts{waterfall.Live: 100, waterfall.Stacks: 300}), "go-goroutine-stacks 300 300, go-live-heap 100 100", "goroutine"},
		{"metadata", process(parts{waterfall.Live: 100, waterfall.Metadata: 300}), "go-metadata 300 300, go-live-heap 100 100", ""},
		{"arenas of glibc", with(process(parts{waterfall.Malloc: 300}), func(f *Facts) { f.Waterfall.Arenas = waterfall.Arenas{Count: 7, Bytes: 250 * mib} }),
			"malloc-trim 300 300, malloc-arenas 250 0", "malloc_trim(0);"},
		{"more in arenas than there is", with(process(parts{waterfall.Malloc: 300}), func(f *Facts) { f.Waterfall.Arenas = waterfall.Arenas{Count: 7, Bytes: 1 << 60} }),
			"malloc-arenas 300 300, malloc-trim 300 0", "MALLOC_ARENA_MAX=2"},
		{"arenas are limited", with(process(parts{waterfall.Malloc: 300}), func(f *Facts) {
			f.Waterfall.Arenas, f.ArenaMax = waterfall.Arenas{Count: 7, Bytes: 250 * mib}, "1"
		}), "malloc-trim 300 300", ""},
		{"jemalloc", with(process(parts{waterfall.Other: 300}), func(f *Facts) { f.Waterfall.Allocators = []string{"libjemalloc"} }),
			"allocator-cache 300 300", "MALLOC_CONF="},
		{"mappings", process(parts{waterfall.Other: 300}), "other-memory 300 300", "perf trace -e mmap,munmap,brk --call-graph dwarf -p 42"},
		{"named", with(process(parts{waterfall.Named: 100}), func(f *Facts) {
			f.Waterfall.Parts[0].Of = []waterfall.Share{{Name: "[anon:cache]", Bytes: 80 * mib}, {Name: "[anon:index]", Bytes: 20 * mib}}
		}), "named-memory 80 80, named-memory 20 20", ""},
		{"C and files", process(parts{waterfall.ThreadStacks: 50, waterfall.Shared: 51, waterfall.Data: 52, waterfall.Text: 53, waterfall.Files: 54}),
			"shared-memory 51 51, thread-stacks 50 50, file-pages 107 107, program-variables 52 52", ""},
		{"variables", process(parts{waterfall.Data: 52}), "program-variables 52 52", "go tool nm -size -sort size /proc/42/exe | head"},
		{"variables without names", with(process(parts{waterfall.Data: 52}), func(f *Facts) { f.Stripped = true }), "program-variables 52 52",
			"go tool nm -size -sort size PROGRAM | head"},
		{"sites", with(process(parts{waterfall.Live: 100}), func(f *Facts) {
			f.Sites = []Site{{"main.a a.go:1", 3, 500 * mib}, {"main.b b.go:1", 3, 20 * mib}, {"main.c c.go:1", 3, mib}}
		}), "go-live-heap 100 100, go-live-heap 20 0", ""},
		{"sites without memory", with(process(parts{waterfall.Live: 100}), func(f *Facts) { f.Sites = []Site{} }), "go-live-heap 100 100", "folio inspect --heap"},
		{"no heap profile", with(process(parts{waterfall.Live: 100}), func(f *Facts) { f.NoSites = fmt.Errorf("x: %w", goruntime.ErrUnlinked) }), "go-live-heap 100 100", `import _ "net/http/pprof"`},
		{"a heap profile that is off", with(process(parts{waterfall.Live: 100}), func(f *Facts) { f.NoSites = goruntime.ErrNoHeapProfile }), "go-live-heap 100 100", ""},
		{"a heap profile that cannot be read", with(process(parts{waterfall.Live: 100}), func(f *Facts) { f.NoSites = errors.New("x") }), "go-live-heap 100 100", "pprof.Lookup"},
		{"goroutines that cannot be read", with(process(parts{waterfall.Stacks: 100}), func(f *Facts) { f.NoCreators = errors.New("x") }), "go-goroutine-stacks 100 100", "pprof.Lookup"},
		{"creators", with(process(parts{waterfall.Stacks: 100}), func(f *Facts) { f.Creators = []Site{{"main.go a.go:1", 300, 60 * mib}} }),
			"go-goroutine-stacks 60 60", ""},
		{"readings of different moments", process(parts{waterfall.Changed: -50}), "", ""},
	} {
		all := Find(c.f)
		var got []string
		for _, m := range all.List {
			got = append(got, fmt.Sprintf("%s %d %d", m.Rule, m.Most/mib, m.Beyond/mib))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
		if c.code != "" && (len(all.List) == 0 || !strings.Contains(all.List[0].Code, c.code)) {
			t.Errorf("%s: %+v, want %s", c.name, all.List, c.code)
		}
	}
}

// TestLimit is what GOMEMLIMIT can be within a container.
func TestLimit(t *testing.T) {
	f := process(map[waterfall.Kind]int64{waterfall.Live: 100, waterfall.Since: 90, waterfall.Metadata: 5, waterfall.Malloc: 40})
	fit := func(limit uint64) {
		own, outside := memlimit.OfWaterfall(1, f.Waterfall)
		f.Fit = new(memlimit.Container{Limit: limit * mib}.Fit(own, outside))
	}
	if least := f.Limit(); least != 130*mib {
		t.Errorf("%d MiB", least/mib)
	}
	for _, c := range []struct {
		limit      uint64
		says, code string
	}{
		{300, "room for GOMEMLIMIT=245MiB: 300.0MiB less 40.00MiB outside the Go runtime", "folio set --memlimit 130MiB 42"},
		{165, "room for GOMEMLIMIT=116MiB only: 165.0MiB less 40.00MiB outside the Go runtime", "folio set --memlimit 116MiB 42"},
		{150, "No limit helps: the Go runtime needs 105.0MiB now, and 40.00MiB are elsewhere", ""},
		{60, "No limit helps: 40.00MiB of 60.00MiB are elsewhere", ""},
	} {
		fit(c.limit)
		if m := memoryLimit(f)[0]; !strings.Contains(m.Means, c.says) || m.Code != c.code {
			t.Errorf("%d: %+v", c.limit, m)
		}
	}
}

// TestComplete: what is said has all its sentences, and every rule is tested.
func TestComplete(t *testing.T) {
	parts := make(map[waterfall.Kind]int64)
	for k := range waterfall.Kinds {
		parts[k] = 100
	}
	parts[waterfall.Since] = 150
	seen := make(map[string]bool)
	for _, change := range []func(*Facts){
		func(f *Facts) { f.THP = fills() },
		func(f *Facts) { f.Fit = new(memlimit.Container{Limit: mib}.Fit(memlimit.OfWaterfall(1, f.Waterfall))) },
		func(f *Facts) { f.Waterfall.Allocators = []string{"libtcmalloc"}; f.GoVersion = "go1.27.1" },
		func(f *Facts) { f.PID = 0; f.Waterfall.GC.Percent = -1; f.Waterfall.GC.Limit = new(uint64(0)) },
		func(f *Facts) {
			f.Sites, f.Creators = []Site{{"a", 1, 50 * mib}}, []Site{{"b", 1, 50 * mib}}
			f.Waterfall.Classes = []waterfall.Class{{Unused: mib}}
		},
		func(f *Facts) { f.Waterfall.Classes = []waterfall.Class{{Size: 48, Unused: mib}} },
	} {
		f := process(parts)
		f.Waterfall.Arenas = waterfall.Arenas{Count: 3, Bytes: 100 * mib}
		i := slices.IndexFunc(f.Waterfall.Parts, func(p waterfall.Part) bool { return p.Kind == waterfall.Named })
		f.Waterfall.Parts[i].Of = []waterfall.Share{{Name: "x", Bytes: 100 * mib}}
		change(f)
		for _, m := range Find(f).List {
			seen[m.Rule] = true
			if !strings.HasSuffix(m.What, ".") || !strings.HasSuffix(m.Means, ".") || m.Do == "" || m.Title == "" || !strings.HasPrefix(m.See, "https://") {
				t.Errorf("%+v", m)
			}
			if colon := strings.HasSuffix(m.Do, ":"); colon != (m.Code+m.Subject != "") {
				t.Errorf("%q, %q, %q", m.Do, m.Code, m.Subject)
			}
			if f.PID == 0 && strings.Contains(m.Code, "42") {
				t.Errorf("%q names a process that has ended", m.Code)
			}
			if strings.ContainsAny(m.What+m.Means+m.Do+m.Code, "\n") {
				t.Errorf("%+v has several lines", m)
			}
		}
	}
	for _, r := range rules {
		if !seen[r.id] {
			t.Errorf("%s was not found", r.id)
		}
	}
}

// TestBounds: no remedy returns more than its parts have, and all together no more than
// there is.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &waterfall.Waterfall{}
		size := rapid.Uint64Range(0, 1<<44)
		for k := range waterfall.Kinds {
			p := waterfall.Part{Kind: k, Bytes: int64(size.Draw(t, "part"))}
			if k == waterfall.Changed {
				p.Bytes = -p.Bytes
			}
			if rapid.Bool().Draw(t, "counted") {
				p.Runtime = new(size.Draw(t, "runtime"))
			}
			w.RSS += uint64(max(p.Bytes, 0))
			w.Parts = append(w.Parts, p)
		}
		i := slices.IndexFunc(w.Parts, func(p waterfall.Part) bool { return p.Kind == waterfall.Named })
		w.Parts[i].Of = []waterfall.Share{{Name: "a", Bytes: size.Draw(t, "share")}, {Name: "b", Bytes: size.Draw(t, "share")}}
		w.Arenas = waterfall.Arenas{Count: 5, Bytes: rapid.Uint64().Draw(t, "arenas")}
		if rapid.Bool().Draw(t, "read") {
			w.GC = &waterfall.GC{Percent: rapid.IntRange(-1, math.MaxInt32).Draw(t, "GOGC"), Limit: new(rapid.Uint64().Draw(t, "limit"))}
		}
		f := &Facts{Waterfall: w, THP: fills()}
		if rapid.Bool().Draw(t, "contained") {
			own, outside := memlimit.OfWaterfall(1, w)
			f.Fit = new(memlimit.Container{Limit: rapid.Uint64().Draw(t, "container")}.Fit(own, outside))
		}
		if rapid.Bool().Draw(t, "looked") {
			f.Sites = []Site{{"a", 1, rapid.Uint64().Draw(t, "site")}, {"b", 1, rapid.Uint64().Draw(t, "site")}}
			f.Creators = f.Sites
		}
		all := Find(f)
		beyond := make(map[waterfall.Kind]uint64)
		var sum uint64
		for _, m := range all.List {
			var most, parts uint64
			for _, s := range m.Of {
				if s.Bytes > f.part(s.Part) {
					t.Errorf("%s: %d bytes of %v, which has %d", m.Rule, s.Bytes, s.Part, f.part(s.Part))
				}
				most += s.Bytes
				parts += f.part(s.Part)
				beyond[s.Part] = f.part(s.Part)
			}
			if m.Most != most || m.Beyond > m.Most || m.Most > parts || m.Most < Worth(w.RSS) {
				t.Errorf("%+v", m)
			}
			if !m.InUse {
				sum += m.Beyond
			}
		}
		var there uint64
		for _, n := range beyond {
			there += n
		}
		if sum != all.Together || sum > there || sum > w.RSS {
			t.Errorf("%d together, the sum is %d, there are %d of %d", all.Together, sum, there, w.RSS)
		}
	})
}

// What sites allocated is what the heap profile says, as folio inspect --heap does, also where
// it is more than is in memory.
func TestSitesSayWhole(t *testing.T) {
	f := process(map[waterfall.Kind]int64{waterfall.Live: 20})
	f.Sites = []Site{{"main.a a.go:1", 31, 32 * mib}, {"runtime", 7, 12 * mib}, {"unknown", 1, 11 * mib}}
	var got []string
	for _, m := range Find(f).List {
		got = append(got, m.What+" "+m.Subject+" "+m.Code)
	}
	want := []string{
		"One call site allocated 32.00MiB of the live heap, in 31 objects; at most 20.00MiB of it is in memory. main.a a.go:1 ",
		"The runtime itself allocated 12.00MiB of the live heap, in 7 objects.  folio inspect --goroutines 42",
		"Call sites without names allocated 11.00MiB of the live heap, in 1 object.  folio inspect --heap heap.pprof 42",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
