package remedy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/base/unit"
)

// fewArenas is the number of arenas that is advised: the first one, and one more.
const fewArenas = 2

func arenas(f *Facts) []Remedy {
	a := f.Waterfall.Arenas
	if n, err := strconv.Atoi(f.ArenaMax); err == nil && n > 0 && n <= fewArenas || a.Count < fewArenas {
		return nil
	}
	return []Remedy{{
		Title: "Limit the arenas of malloc",
		Of:    []Share{{waterfall.Malloc, a.Bytes}},
		What:  fmt.Sprintf("malloc of glibc has %d arenas besides the first, with %s.", a.Count, unit.Size(a.Bytes)),
		Means: "Threads take an arena each, up to 8 for each CPU. What is free in one is of no use to the others, and comes back from its end only. With fewer, threads wait for each other in malloc.",
		Do:    "Limit them, in the environment that starts the program:", Code: fmt.Sprintf("MALLOC_ARENA_MAX=%d", fewArenas), See: docArena,
	}}
}

func trim(f *Facts) []Remedy {
	n := f.part(waterfall.Malloc)
	m := Remedy{
		Title: "Return free memory of malloc to the OS",
		Of:    []Share{{waterfall.Malloc, n}},
		What:  fmt.Sprintf("malloc of the C library has %s; how much of that is free is not known.", unit.Size(n)),
		Means: "glibc returns memory from the end of its arenas only, by itself. malloc_trim returns free pages everywhere.",
		Do:    "After a peak, have C code call:", Code: "malloc_trim(0);", See: docMalloc,
	}
	if len(f.Waterfall.Allocators) > 0 {
		m.Means = "Its allocator is another one: " + strings.Join(f.Waterfall.Allocators, ", ") + "."
		m.Do, m.Code, m.See = "See what allocates with the heap profile of that library.", "", "https://jemalloc.net/jemalloc.3.html"
	}
	return []Remedy{m}
}

// decays are the settings by which allocators return free memory at once.
var decays = map[string][2]string{
	"libjemalloc": {"MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0", "https://jemalloc.net/jemalloc.3.html"},
	"libtcmalloc": {"TCMALLOC_RELEASE_RATE=10", "https://gperftools.github.io/gperftools/tcmalloc.html"},
	"libmimalloc": {"MIMALLOC_PURGE_DELAY=0", "https://microsoft.github.io/mimalloc/environment.html"},
}

func allocators(f *Facts) []Remedy {
	for _, name := range f.Waterfall.Allocators {
		d, ok := decays[name]
		if !ok {
			continue
		}
		n := f.part(waterfall.Other)
		return []Remedy{{
			Title: "Have " + name + " return memory sooner",
			Of:    []Share{{waterfall.Other, n}},
			What:  fmt.Sprintf("%s is loaded, and %s of anonymous memory are its own or other mappings.", name, unit.Size(n)),
			Means: "It keeps what was freed for a while, to use it again. What is in use does not come back.",
			Do:    "Have it return memory sooner, at the price of page faults:", Code: d[0], See: d[1],
		}}
	}
	return nil
}

func other(f *Facts) []Remedy {
	if len(f.Waterfall.Allocators) > 0 {
		return nil // it is the allocator's
	}
	n := f.part(waterfall.Other)
	m := Remedy{
		Title: "Anonymous memory of unknown origin",
		Of:    []Share{{waterfall.Other, n}},
		What:  fmt.Sprintf("%s of anonymous memory of unknown origin.", unit.Size(n)),
		Means: "Allocations of malloc of 128KiB and more have a mapping each, and so do buffers of libraries and mmap in the program.",
		Do:    "See who maps it, while it grows:", Code: "sudo perf trace -e mmap,munmap,brk --call-graph dwarf -p " + pidText(f.PID),
		See: "https://man7.org/linux/man-pages/man1/perf-trace.1.html",
	}
	return []Remedy{m}
}

func named(f *Facts) (out []Remedy) {
	for _, s := range f.Waterfall.Part(waterfall.Named).Of {
		out = append(out, Remedy{
			Title: "Memory that the program mapped",
			Of:    []Share{{waterfall.Named, s.Bytes}}, Subject: s.Name,
			What:  fmt.Sprintf("The program mapped %s and gave it a name.", unit.Size(s.Bytes)),
			Means: "The GC does not manage it. What of it is in use, only the program knows.",
			Do:    "Return what is not in use (madvise MADV_DONTNEED; Release of package page) of:", See: "https://pkg.go.dev/github.com/foliomem/folio/page",
		})
	}
	return out
}

func threads(f *Facts) []Remedy {
	n := f.part(waterfall.ThreadStacks)
	return []Remedy{{
		Title: "Bound the calls that block a thread",
		Of:    []Share{{waterfall.ThreadStacks, n}},
		What:  fmt.Sprintf("Stacks of threads take %s.", unit.Size(n)),
		Means: "A Go program has a thread for each call of C or of the kernel that blocks at the same time; threads are kept for the next one.",
		Do:    "Bound how many such calls run at once. See how many threads there are:", Code: fmt.Sprintf("ls /proc/%s/task | wc -l", pidText(f.PID)), See: "https://pkg.go.dev/runtime/debug#SetMaxThreads",
	}}
}

func shared(f *Facts) []Remedy {
	n := f.part(waterfall.Shared)
	return []Remedy{{
		Title: "Shrink shared memory",
		Of:    []Share{{waterfall.Shared, n}},
		What:  fmt.Sprintf("%s are shared memory (tmpfs, memfd, System V).", unit.Size(n)),
		Means: "It counts to the container of the process that touched it first, and stays when processes end, until the file is removed.",
		Do:    "Remove or shrink what is not needed:", Code: "ls -l /dev/shm; ipcs -m", See: docProc,
	}}
}

func variables(f *Facts) []Remedy {
	n := f.part(waterfall.Data)
	m := Remedy{
		Title: "Variables",
		Of:    []Share{{waterfall.Data, n}},
		What:  fmt.Sprintf("Variables of the program and its libraries take %s.", unit.Size(n)),
		Means: "Arrays that are package variables are in memory from the first write on, for as long as the program runs.",
		Do:    "See the largest:", Code: fmt.Sprintf("go tool nm -size -sort size /proc/%s/exe | head", pidText(f.PID)), See: "https://pkg.go.dev/cmd/nm",
	}
	if f.Stripped {
		m.Do, m.Code = "It is stripped, so nothing names them here. Build it without -s, and see the largest:", "go tool nm -size -sort size PROGRAM | head"
	}
	return []Remedy{m}
}

func uncharged(f *Facts) []Remedy {
	n := f.part(waterfall.Uncharged)
	return []Remedy{{
		Title: "Use smaller rings or buffers",
		Of:    []Share{{waterfall.Uncharged, n}},
		What:  fmt.Sprintf("%s are pages of the kernel or of a device that the process maps: rings of packet sockets or of perf, memory of a GPU.", unit.Size(n)),
		Means: "They count to RSS, and to no container: its limit does not bound them, the kernel cannot reclaim them, and the node can run out of memory by them.",
		Do:    "Ask for smaller rings or buffers. See which mappings they are:", Code: fmt.Sprintf("grep -A2 -E 'socket:|perf_event|/dev/' /proc/%s/smaps", pidText(f.PID)), See: docProc,
	}}
}

func files(f *Facts) []Remedy {
	text, mapped := f.part(waterfall.Text), f.part(waterfall.Files)
	return []Remedy{{
		Title: "Pages of files",
		Of:    []Share{{waterfall.Text, text}, {waterfall.Files, mapped}},
		What:  fmt.Sprintf("Code %s, other mapped files %s.", unit.Size(text), unit.Size(mapped)),
		Means: "The kernel drops clean ones, and writes back the others, when memory is short. A cgroup reclaims them before it kills.",
		Do:    "The kernel drops pages of files when memory is short. Unmap files that the program no longer needs.", See: docProc,
	}}
}

// whileRuns ends a sentence before a command that needs the process, where that may have
// ended.
func whileRuns(pid int) string {
	if pid <= 0 {
		return ", while it runs"
	}
	return ""
}

// pidText stands for a process in commands.
func pidText(pid int) string {
	if pid <= 0 {
		return "PID"
	}
	return strconv.Itoa(pid)
}
