package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/internal/library/heapmap"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Process is what was seen of one.
type Process struct {
	PID     int
	Command []string // empty for one that has none
	Name    string   // the kernel's, at most 15 bytes
	UID     *int

	IsGo              *bool  // nil if its program could not be read
	GoVersion, Module string // of a Go program
	// Maker is who made it where that is not go build alone (executable.UPX and others); and
	// Memfd says that its program was executed from memory (memfd_create), not from a file.
	Maker string
	Memfd bool
	// Patches are those of Go's runtime that folio built it with, as name@hash.
	Patches []string
	// HeapPatch says where it has the patch by which its heap asks for huge pages:
	// HeapMemory or HeapCopy; "" for nowhere, or if that is not known.
	HeapPatch string

	Resident, Swapped *uint64
	// Anonymous is memory of the process itself, not of files, and AnonymousHuge what
	// of it is on huge pages; nil if that could not be seen. See [OnBasePages].
	Anonymous, AnonymousHuge *uint64
	Memory                   []Memory // by kind; nil if it could not be seen
	Limit                    *Limit   // nil for none

	// Windows are those of Of: the Go heap, else all anonymous memory. nil if they
	// could not be seen.
	Windows *Windows
	Of      Kind
	// Collapse is the command that puts the dense ones on huge pages; "" where none are to
	// gain, or where this user cannot.
	Collapse string
	Bloat    *Bloat // of Windows
	Faults   *Faults
	// Waterfall divides Resident into parts; nil if it was not asked for, or not to be had.
	Waterfall *waterfall.Waterfall
	// Remedies are what would make the parts of Waterfall smaller.
	Remedies remedy.Remedies

	Policy  Policy
	Hazards []string
	Notes   []string // what could not be seen, and why
	Denied  string   // why none of its memory may be read, and how to get the right; "" if some may
}

// Where a program has the patch of package codepatch.
const (
	HeapMemory = "memory" // by folio exec: the file is as it was built
	HeapCopy   = "copy"   // by folio patch: in the file
)

// Memory is what a process has of one kind, in bytes.
type Memory struct {
	Kind     Kind
	Mappings int
	Size     uint64
	Resident uint64
	Huge     uint64  // of Resident
	Swapped  *uint64 // nil if that was not read
}

// A Limit is the memory limit of a cgroup that a process is in, in bytes.
type Limit struct {
	Dir   string // of the cgroup, as it is mounted
	Bytes uint64 // beyond it, processes are killed
	Used  uint64 // by all processes of the cgroup, with their page cache and the kernel's memory for them
	Cache uint64 // of Used: page cache that the kernel takes back easily
}

// InUse is what is used but for Cache, and Left how much more may be used before processes
// are killed.
func (l Limit) InUse() uint64 { return l.Used - min(l.Used, l.Cache) }
func (l Limit) Left() uint64  { return l.Bytes - min(l.Bytes, l.InUse()) }

// Faults are page faults over a time.
type Faults struct {
	Over         time.Duration
	Minor, Major uint64
}

// Options are the options of a look.
type Options struct {
	// MinDensity is the share of a window that must be resident for it to count as
	// gain. Default: MinDensity.
	MinDensity float64
	// FaultTime is how long page faults are counted. Default: not.
	FaultTime time.Duration
	// Waterfall asks for the parts of the memory, from the live heap to files. Default: not.
	Waterfall bool
	// Brief asks for the program and the waterfall alone. Default: for all that is there.
	Brief bool
	// Ends says that the process has ended when the result is read, as in a trial: commands
	// that are advised name PID instead of its number. Default: the number.
	Ends bool
	// Once is for a process that may end at any moment: what changes while it is read is not
	// read again. Default: it is.
	Once bool
	// Sites reads the heap profile of a Go program, for advice. Default: not.
	Sites bool
	// Bloat reads some of the memory to learn how much is never used. Default: not.
	Bloat bool
	// Sleep is how to wait for FaultTime to pass. Default: time.Sleep.
	Sleep func(time.Duration)
}

// Process looks at one process. The error is a procmem.ErrNoProcess, or says why nothing at
// all could be seen; what for, and of which process, says the caller.
func (s *System) Process(pid int, o Options) (*Process, error) {
	w := &Watcher{s: s, pid: pid, o: o}
	defer w.Close()
	p, err := s.process(pid, o, w)
	if err != nil {
		return nil, s.FS.Unseen(pid, err)
	}
	return p, nil
}

// Check says of a process that has no memory to look at why; nil of others. The error is an
// procmem.ErrNoProcess where it has ended.
func (s *System) Check(pid int) error {
	_, _, err := s.withMemory(pid)
	return s.FS.Unseen(pid, err)
}

// withMemory reads what there is to know of a process that has memory.
func (s *System) withMemory(pid int) (procmem.Stat, procmem.Status, error) {
	stat, err := s.FS.Find(pid)
	if err != nil {
		return stat, procmem.Status{}, err
	}
	if stat.Zombie() {
		return stat, procmem.Status{}, procmem.ErrEnding
	}
	status, err := s.FS.Status(pid)
	if err == nil && status.VmRSS == nil {
		err = s.FS.NoMemory(pid)
	}
	return stat, status, err
}

func (s *System) process(pid int, o Options, w *Watcher) (*Process, error) {
	if o.MinDensity == 0 {
		o.MinDensity = MinDensity
	}
	if o.Sleep == nil {
		o.Sleep = time.Sleep
	}
	begin := time.Now()
	before, status, err := s.withMemory(pid)
	if err != nil {
		return nil, err
	}
	p := &Process{PID: pid, Name: before.Comm, UID: status.UID, Resident: status.VmRSS, Swapped: status.VmSwap}
	p.Command, _ = s.FS.Cmdline(pid) // Name is left
	s.fillProgram(p)
	if o.Brief {
		if p.hasGoHeap() {
			p.Of = GoHeap
		}
		return p, s.fillWaterfall(p, w)
	}
	p.Limit = s.limit(pid)
	s.fillPatches(p)
	if err := s.fillMemory(p, w, status); err != nil {
		return nil, err
	}
	if o.Waterfall && p.Memory != nil {
		if err := s.fillWaterfall(p, w); err != nil {
			return nil, err
		}
	}
	if o.FaultTime > 0 {
		o.Sleep(o.FaultTime - time.Since(begin))
		after, err := s.FS.Stat(pid)
		if err != nil || after.StartTime != before.StartTime {
			return nil, procmem.ErrNoProcess // what was read may be of two processes
		}
		if after.Zombie() {
			return nil, procmem.ErrEnding // or of a part of its memory
		}
		p.Faults = &Faults{time.Since(begin), after.MinFlt - before.MinFlt, after.MajFlt - before.MajFlt}
	}
	p.Hazards = s.hazards(p)
	return p, nil
}

func (s *System) fillProgram(p *Process) {
	of, err := s.program(p.PID)
	if err != nil {
		p.note("whether it is a Go program is not known: %s", s.denied(p.PID, err))
		return
	}
	path, _ := os.Readlink(s.FS.ExePath(p.PID))
	p.Memfd = strings.HasPrefix(path, "/memfd:")
	p.IsGo, p.GoVersion, p.Module = &of.isGo, of.version, of.module
	if of.foreign == nil {
		return
	}
	p.Maker = of.foreign.Maker
	if isGo, known := of.foreign.IsGo(); known {
		p.IsGo = &isGo
	} else {
		p.IsGo = nil
		p.note("whether it is a Go program is not known: %v", of.foreign)
	}
}

// hasGoHeap reports whether the program has a heap as go build's runtime makes them.
func (p *Process) hasGoHeap() bool {
	return p.IsGo != nil && *p.IsGo && (p.Maker == "" || p.Maker == executable.Garble)
}

// fillPatches says how the runtime of a Go program was changed.
func (s *System) fillPatches(p *Process) {
	if p.IsGo == nil || !*p.IsGo || p.Maker != "" {
		return
	}
	record, err := overlay.ReadFile(s.FS.ExePath(p.PID))
	if err != nil {
		p.note("whether its runtime was patched is not known: %s", s.denied(p.PID, err))
	} else if record != nil {
		p.Patches = record.List()
	}
	if p.HeapPatch, err = s.heapPatch(p.PID); err != nil {
		p.note("whether its heap was made to ask for huge pages is not known: %s", s.denied(p.PID, err))
	}
}

// heapPatch looks for the patch of package codepatch.
func (s *System) heapPatch(pid int) (string, error) {
	patch, err := codepatch.Open(s.FS.ExePath(pid))
	var refused *codepatch.RefusedError
	switch {
	case errors.As(err, &refused):
		return "", nil // what cannot have it has it not
	case err != nil:
		return "", err
	case patch.Applied:
		return HeapCopy, nil
	}
	entry, err := s.FS.Entry(pid, 8)
	if err != nil {
		return "", err
	}
	mem, err := os.Open(s.FS.MemPath(pid))
	if err != nil {
		return "", err
	}
	defer mem.Close()
	if has, err := patch.In(entry, mem); !has || err != nil {
		return "", err
	}
	return HeapMemory, nil
}

// fillMemory looks at mappings and windows. Its errors are of processes that ended.
func (s *System) fillMemory(p *Process, w *Watcher, status procmem.Status) error {
	p.Of = Anonymous
	mappings, flags, err := s.mappings(p.PID, status)
	switch {
	case procmem.Gone(err):
		return err
	case err != nil:
		if errors.Is(err, fs.ErrPermission) {
			p.Denied, p.Notes = s.denied(p.PID, err), nil // one note tells what all were refused for
		}
		p.note("parts and kinds of memory, huge pages and windows are not known: %s", s.denied(p.PID, err))
		p.Policy = s.policy(status, nil)
		return nil
	}
	if len(mappings) == 0 {
		return s.FS.NoMemory(p.PID)
	}
	var heap []page.Range
	if p.hasGoHeap() {
		if heap, err = s.find(p.PID); err == nil {
			p.Of = GoHeap
		} else if errors.Is(err, heapmap.ErrNotFound) {
			p.note("its Go heap was not found, and counts as other anonymous memory")
		} else if procmem.Gone(err) {
			return err
		}
	} else if err := s.updateRuntimes(p, w); s.ended(p, err) != nil {
		return err
	} else if err == nil && w.Attached() {
		vmas, _ := s.FS.Maps(p.PID)
		heap = heapsOf(w.readable(), vmas)
	}
	a := s.sort(p, mappings, heap)
	advised := &a
	if !flags {
		advised = nil
		for i := range p.Memory {
			if p.Memory[i].Kind == File {
				p.Memory[i].Swapped = nil // of shared memory only smaps says it
			}
		}
		p.note("not read: what it advised for or against huge pages (windows that it opted out count as dense), and its swapped shared memory. "+
			"smaps says so, but would delay its threads that map memory by about %d ms; folio doctor %d reads it",
			smapsWait(resident(mappings)), p.PID)
	}
	p.Policy = s.policy(status, advised)
	return s.fillWindows(p, w.o, a)
}

// smapsMost is of how many bytes of base pages smaps is read: while the kernel counts those
// of a mapping, threads that map memory wait, for about 20 ms a GiB.
const smapsMost = 256 << 20

func smapsWait(bytes uint64) (ms uint64) { return bytes * 20 >> 30 }

// resident returns how much of mappings is in memory, on base pages.
func resident(mappings []procmem.Mapping) (n uint64) {
	for _, m := range mappings {
		n += m.Rss - min(m.Huge, m.Rss)
	}
	return n
}

// mappings reads the mappings of a process. flags is false where it would wait for long for
// what only smaps says.
func (s *System) mappings(pid int, status procmem.Status) (all []procmem.Mapping, flags bool, err error) {
	if status.VmRSS != nil && *status.VmRSS > smapsMost {
		all, flags, err = s.FS.Counted(pid)
		if err != nil || flags || resident(all) > smapsMost {
			return all, flags, err
		}
	}
	all, err = s.FS.Mappings(pid)
	return all, true, err
}

// areas are the mappings that windows are looked at in.
type areas struct {
	ranges []page.Range // ascending
	// Of these, in bytes: what the program advised for huge pages, and against.
	advised, against uint64
	noHuge           []page.Range
}

// sort adds up mappings by kind.
func (s *System) sort(p *Process, mappings []procmem.Mapping, heap []page.Range) (a areas) {
	vmas := make([]procmem.VMA, len(mappings))
	for i, m := range mappings {
		vmas[i] = m.VMA
	}
	var kinds [Kinds]Memory
	var swapped [Kinds]uint64
	var anonymous, huge uint64
	p.Anonymous, p.AnonymousHuge = &anonymous, &huge
	for i, m := range mappings {
		kind := classify(vmas, i, heap, s.FS.PageSize())
		if m.IsHugetlb {
			kind = Hugetlb
		}
		anonymous += m.Anonymous
		huge += min(m.Huge, m.Anonymous) // huge pages of files are counted with them
		k := &kinds[kind]
		k.Mappings++
		k.Size += m.Len()
		k.Resident += m.Rss + m.Hugetlb
		k.Huge += m.Huge + m.Hugetlb
		swapped[kind] += m.Swap
		windows := kind == p.Of || kind == GoHeap // that of a library is anonymous memory, too
		if !windows || !usable(m.VMA) {
			continue
		}
		r := page.Range{Start: uintptr(m.Start), End: uintptr(m.End)}
		a.ranges = join(a.ranges, r)
		if m.AdviseHuge {
			a.advised += m.Rss
		}
		if m.AdviseNoHuge {
			a.against += m.Rss
			a.noHuge = join(a.noHuge, r)
		}
	}
	for k := range kinds {
		kinds[k].Kind, kinds[k].Swapped = Kind(k), &swapped[k]
		if kinds[k].Mappings > 0 {
			p.Memory = append(p.Memory, kinds[k])
		}
	}
	return a
}

func (s *System) fillWindows(p *Process, o Options, a areas) error {
	process, err := page.OpenProcess(p.PID)
	if err != nil {
		if errors.Is(err, os.ErrProcessDone) {
			return err
		}
		p.note("windows are not known: %v", err)
		return nil
	}
	defer process.Close()
	windows, cut, err := Scan(process, a.ranges)
	switch {
	case procmem.Gone(err):
		return err
	case err != nil:
		p.note("windows are not known: %s", s.denied(p.PID, err))
		return nil
	}
	sum := Summarize(windows, cut, o.MinDensity, a.noHuge)
	if p.Policy.Disabled() {
		sum.OptedOut += sum.Dense
		sum.Dense, sum.Gain, sum.Fill = 0, 0, 0
	}
	p.Windows = &sum
	if sum.Gain > 0 && p.Policy.Collapse == nil {
		p.Collapse = CollapseCommand(p.PID, p.Of == GoHeap)
	}
	if sum.HugeUnknown > 0 {
		p.note("which windows are huge is not known before Linux 6.7: %d of them may be", sum.HugeUnknown)
	}
	if !o.Bloat {
		return nil
	}
	if p.Bloat, err = BloatOf(process, windows, readAtMost); err != nil {
		p.note("bloat is not known: reading some of the memory failed: %s", s.denied(p.PID, err))
	}
	return nil
}

func (p *Process) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// denied says what an error of reading another process means.
func (s *System) denied(pid int, err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return s.FS.Denied(pid)
	}
	return err.Error()
}

// Failed says of an error of looking at a process what was to be done.
func Failed(pid int, err error) error { return fmt.Errorf("inspect process %d: %w", pid, err) }
