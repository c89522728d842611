package diagnose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/base/unit"
)

// By how many times its peak RSS a program faults in: up to firstTouches it touches
// each page once. From refaults on most faults are of memory that it had before; in
// between most are not, since files and stacks take faults, too: gofmt, which holds
// what it touches, has 1.0 to 1.7 times its peak.
const firstTouches, refaults = 1.2, 2

// adviseFaults says how to take fewer page faults. What helps depends on whose they
// are. A program that keeps what it touches faults each page once: huge pages have
// fewer of them, and a larger GOGC has more, as the heap grows further before it is
// collected. One that returns memory to the OS faults it in again; what stops that is
// a heap of a fixed size, GOGC=off with GOMEMLIMIT near the peak, and again not a
// larger GOGC, under which both peak and faults grow. Of several processes each
// touches memory of its own.
func adviseFaults(s *RunFacts) (float64, NextStep, bool) {
	gain := s.part(profile.PageFaults)
	evidence := fmt.Sprintf("%s faults took %s of CPU time", unit.Count(s.Faults), unit.Percent(gain))
	switch {
	case s.splitKernel():
		if gain < littleTax {
			return 0, NextStep{}, false
		}
	case s.Faults < manyFaults || s.sysShare() < littleSys:
		return 0, NextStep{}, false
	default:
		gain = s.sysShare()
		evidence = fmt.Sprintf("%s faults, %s/s; system time %s, not all of it for faults", unit.Count(s.Faults),
			unit.Rate(s.Faults/math.Max(s.Span, 1e-9)), unit.Percent(gain))
	}
	if w := s.Profile; w != nil && w.HeapFaults > 0 && w.Faults >= manyFaults {
		evidence += fmt.Sprintf("; %s of them in the heap", unit.Percent(float64(w.HeapFaults)/float64(w.Faults)))
	}
	f := NextStep{What: fmt.Sprintf("Fewer page faults: up to %s less CPU time", unit.Percent(gain))}
	var why string
	why, f.Fix = s.faultFix()
	f.Evidence = evidence + why
	return gain, f, true
}

// faultFix says whose the faults are, and what to try.
func (s *RunFacts) faultFix() (why, fix string) {
	faulted := s.Faults * float64(s.Host.PageBytes)
	part, known := s.largestFaults()
	switch {
	case s.Processes > 1 && !known:
		return "", s.site("reuse memory")
	case s.Processes > 1 && part < mostly:
		return fmt.Sprintf("; of %d processes the largest took %s: each touches memory of its own",
			s.Processes, unit.Percent(part)), s.site("start fewer processes, and have each do more")
	case s.RSS == nil || *s.RSS <= 0 || s.PID != 0 || s.Processes == 0:
		return "", s.site("reuse memory") // whose they are is not known
	case s.Huge != nil && *s.Huge >= *s.RSS/10: // a fault is of more than a page there
		return fmt.Sprintf("; %s of %s were on huge pages", unit.Bytes(*s.Huge), unit.Bytes(*s.RSS)), s.site("reuse memory")
	case faulted > refaults*(*s.RSS):
		return fmt.Sprintf("; %s faulted in, peak RSS %s: most was returned to the OS and faulted in again",
			unit.Bytes(faulted), unit.Bytes(*s.RSS)), s.fixedHeap()
	}
	why = fmt.Sprintf("; %s faulted in, peak RSS %s", unit.Bytes(faulted), unit.Bytes(*s.RSS))
	switch {
	case s.Server: // the peak is of all its life, the faults are of the load
	case faulted > firstTouches*(*s.RSS):
		why += ": mostly first touches"
	default:
		why += ": first touches"
	}
	if fix = s.hugePages(); fix != "" {
		return why, fix
	}
	return why, s.site("touch less memory: reuse buffers, load less")
}

// largestFaults is the part of the faults that one process took, where that was sampled.
func (s *RunFacts) largestFaults() (part float64, known bool) {
	w := s.Profile
	if w == nil || w.Faults < manyFaults || w.LargestFaults == 0 {
		return 0, false
	}
	return float64(w.LargestFaults) / float64(w.Faults), true
}

// mostly is the part of all faults from which on they are those of one process.
const mostly = 0.8

// site adds to a fix where most of the faults are.
func (s *RunFacts) site(fix string) string {
	if who := s.payers(3, profile.PageFaults); who != "" {
		return fix + "; most faults are at " + who
	}
	return fix
}

// fixedHeap is the search of a heap that neither grows nor shrinks. Within twice the
// peak it tries limits near what the program needs.
func (s *RunFacts) fixedHeap() string {
	if !s.Go {
		return s.site("keep freed memory instead of returning it to the OS")
	}
	command := []string{"tune"}
	if limit := (2*uint64(*s.RSS) + 1<<20 - 1) &^ (1<<20 - 1); s.Host.MemoryBytes == nil || limit < *s.Host.MemoryBytes/2 {
		command = append(command, "--max-rss="+unit.Exact(limit))
	}
	if !slices.Contains(s.Flags, "--metric") {
		command = append(command, "--metric=cpu") // what faults cost
	}
	return s.line(command...)
}

// hugePages is how to have first touches on huge pages, "" if they can gain little or
// cannot be had.
func (s *RunFacts) hugePages() string {
	policy := ""
	if e := s.Host.THPEnabled; e != nil {
		policy = *e
	}
	if s.Host.HugePageBytes == nil || policy == "" || *s.RSS < inspect.LittleHeap {
		return ""
	}
	if policy == "never" {
		return "as root, echo madvise > " + thpEnabled + ", and have the program ask for huge pages"
	}
	switch {
	case policy == "always":
		return "" // they are there for all: what this program has cannot be on them
	case !s.Go:
		return s.line("run", "--env", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1")
	case s.Setting.THP == trial.THPHeap, s.OnlyLibraries: // folio exec changes programs, not libraries
		return ""
	case !s.Wrapped && (slices.Contains(s.Flags, "--build") || s.Setting.THP == trial.THPOff):
		return s.line("tune")
	}
	if s.MayHeap != nil {
		if err := s.MayHeap(); err != nil {
			return s.copied(err)
		}
	}
	if s.Wrapped {
		return "put folio exec -- before the Go program in the command: its heap then asks for huge pages"
	}
	why := fmt.Sprintf("the heap then asks for huge pages: one fault per %s instead of %.0f",
		unit.Exact(*s.Host.HugePageBytes), float64(*s.Host.HugePageBytes)/float64(s.Host.PageBytes))
	return s.lineWith(why, "run", "--thp=heap")
}

// copied is how to have the heap on huge pages where err is in the way of having that at
// the start of the program; "" if that is no more possible in a copy of it.
func (s *RunFacts) copied(err error) string {
	if !errors.Is(err, trial.ErrUntraced) {
		return ""
	}
	program := "PROGRAM"
	if len(s.Command) > 0 && !s.Wrapped {
		program = trial.Quote(s.Command[0])
	}
	return "folio patch " + program + " -o COPY   # run the copy instead: its heap asks for huge pages; folio run --thp=heap and folio exec need ptrace, which is denied here"
}
