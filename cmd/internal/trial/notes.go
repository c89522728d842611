package trial

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/unit"
)

// collapsed says what --thp collapse did, in the last sample that has it.
func collapsed(samples []*Sample) string {
	for _, s := range slices.Backward(samples) {
		switch {
		case s.CollapsedBytes == nil:
		case *s.CollapsedBytes == 0:
			return "--thp collapse found nothing to put on huge pages: no Go heap had a dense window, or the program ended too early"
		default:
			return fmt.Sprintf("folio put %s of heap on huge pages, in %s, which is not in the program's CPU time",
				unit.Size(*s.CollapsedBytes), unit.Seconds(*s.CollapseSeconds))
		}
	}
	return ""
}

// heapOnlyNote says which programs --thp heap left as they are.
func heapOnlyNote(samples []*Sample) string {
	most := 0
	for _, s := range samples {
		if s.GoChildren != nil {
			most = max(most, *s.GoChildren)
		}
	}
	if most == 0 {
		return ""
	}
	return "--thp heap changes the program alone: it started " + unit.Plural(most, "Go process") + ", without huge pages for the heap"
}

// heapTreeNote says what --thp heap did to the programs of the tree: of those of one name in
// the last run that has it, or in one in which one was not changed; "" where there is one, and all
// that was asked for was done.
func heapTreeNote(samples []*Sample) string {
	var all []HeapPrograms
	for _, s := range slices.Backward(samples) {
		for _, h := range s.Heaps {
			i := slices.IndexFunc(all, func(o HeapPrograms) bool { return o.Name == h.Name })
			switch {
			case i < 0:
				all = append(all, h)
			case all[i].Reason == "" && h.Reason != "":
				all[i] = h
			}
		}
	}
	if len(all) == 0 || len(all) == 1 && all[0].Reason == "" && all[0].Changed == all[0].Execs {
		return ""
	}
	slices.SortStableFunc(all, func(a, b HeapPrograms) int {
		switch {
		case a.NotGo == b.NotGo:
			return 0
		case a.NotGo:
			return 1
		}
		return -1
	})
	var said []string
	for _, h := range all {
		said = append(said, h.Text())
	}
	return "heap on huge pages: " + strings.Join(said, ", ")
}

// Text is what became of the programs, as "compile 412 of 412".
func (h HeapPrograms) Text() string {
	switch text := fmt.Sprintf("%s %d of %d", h.Name, h.Changed, h.Execs); {
	case h.NotGo:
		return h.Name + ": not Go"
	case h.Reason != "":
		return text + " (" + h.Reason + ")"
	default:
		return text
	}
}

// unprivilegedNote names the programs that a trial took the privileges of.
func unprivilegedNote(samples []*Sample) string {
	for _, s := range samples {
		if len(s.Unprivileged) > 0 {
			return s.Unprivileged[0] + " ran without its privileges: an ordinary user can follow what a program starts only without (no_new_privs): start folio as root"
		}
	}
	return ""
}

// noteUnread names settings that programs do not read as they are meant.
func noteUnread(notes *stat.Notes, samples []*Sample) {
	for _, s := range samples {
		for _, text := range s.Unread {
			notes.Add(text)
		}
	}
}

// inRuns says in how many of several runs something is so; "" of one run.
func inRuns(samples []*Sample, is func(*Sample) bool) (in string, any bool) {
	n := 0
	for _, s := range samples {
		if is(s) {
			n++
		}
	}
	if len(samples) > 1 {
		in = fmt.Sprintf("in %d of %d runs ", n, len(samples))
	}
	return in, n > 0
}

// peaksUnknown says which peak of memory some run lacks, and why.
func peaksUnknown(samples []*Sample) string {
	if in, any := inRuns(samples, func(s *Sample) bool { return s.PeakRSS == nil }); any {
		return in + "peak RSS is not known: the program ended before it could be looked at, and this system has no exact figure for programs smaller than folio"
	}
	if in, any := inRuns(samples, func(s *Sample) bool { return s.PeakTreeRSS == nil }); any {
		return in + "the peak RSS of all processes together is not known: it can only be sampled, and they ended too soon"
	}
	return ""
}

// unseen says what is not known of GC cycles, and why.
func unseen(samples []*Sample) string {
	unknown := "GC cycles are unknown: "
	if PeakWaterfall(samples).Cycles() > 0 {
		unknown = "how many GC cycles there were in all is unknown: "
	}
	for _, s := range samples {
		switch {
		case s.NoLoad: // so is all else
		case s.Uncounted != nil && s.GCCycles == nil:
			return unknown + s.Uncounted.Error()
		case s.Uncounted != nil:
			return "GC cycles, pauses and the heap peak are lower bounds: " + s.Uncounted.Error()
		case s.GCCycles == nil:
			return unknown + "no Go program was seen"
		}
	}
	return ""
}

// librariesNote names the Go libraries whose GC figures are among those of the program.
func librariesNote(samples []*Sample) string {
	var names []string
	only := false
	for _, s := range samples {
		only = only || s.OnlyLibraries
		for _, name := range s.GoLibraries {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case only:
		return "GC figures are those of Go libraries: " + strings.Join(names, ", ")
	}
	return "GC figures include those of Go libraries: " + strings.Join(names, ", ")
}

// AddNotesOfArms notes what a reader of a comparison must know.
func AddNotesOfArms(notes *stat.Notes, samples []*Sample) {
	for _, text := range []string{repeatNote(samples), leftOutNote(samples), heapTreeNote(samples), unprivilegedNote(samples), heapOnlyNote(samples), librariesNote(samples)} {
		notes.Add(text)
	}
	noteUnread(notes, samples)
}

// FailedNote says of which runs the figures are where all failed.
const FailedNote = "the figures are of a failed run"

// NoneCounts begins what is said where the load generator was late in all runs.
const NoneCounts = "LATE: no run is valid: "

// AddNotes notes what a reader of the figures must know. read says that GC cycles were to be
// seen.
func AddNotes(notes *stat.Notes, samples []*Sample, read bool) {
	failed, late, left := 0, 0, 0
	for _, s := range samples {
		if !s.OK() && s.Late() {
			late++
		} else if !s.OK() {
			failed++
		}
		left = max(left, s.Leftovers)
	}
	switch last := samples[len(samples)-1]; {
	case late == len(samples):
		notes.Add(NoneCounts + last.Failure)
	case failed+late == len(samples) && last.FailureKind == FailedInterrupted:
		notes.Add("the run was " + last.Failure + ": its figures are of the time until then")
	case failed+late == len(samples) && last.Interrupted:
		notes.Add("the run was interrupted (" + last.Failure + "): its figures are of the time until then")
	case failed+late == len(samples):
		notes.Add(FailedNote)
	default:
		if failed > 0 {
			notes.Add(fmt.Sprintf("%d of %d runs failed and do not count", failed, len(samples)))
		}
		if late > 0 {
			notes.Add(fmt.Sprintf("%d of %d runs do not count: %s", late, len(samples), LateNote(samples)))
		}
	}
	noteUnread(notes, samples)
	notes.Add(leftOutNote(samples))
	if Growing(samples) {
		notes.Add("the heap was still growing when the load ended, after fewer than two GC cycles: its memory is what it took so far; a longer --load-duration shows more")
	}
	if left > 0 {
		notes.Add("the program left " + unit.Plural(left, "process") + " behind; ended by folio")
	}
	for _, s := range samples {
		if s.Unsampled != nil && Profile(samples) != nil { // else the memory tax is unknown, for that reason
			notes.Add("CPU time was not sampled: " + s.Unsampled.Error())
			break
		}
	}
	failedAll := AllFailed(samples) // it explains what is not known
	if read && !failedAll {
		notes.Add(unseen(samples))
	}
	if !failedAll {
		notes.Add(peaksUnknown(samples))
	}
	notes.Add(collapsed(samples))
	for _, text := range []string{heapTreeNote(samples), unprivilegedNote(samples), heapOnlyNote(samples), librariesNote(samples)} {
		notes.Add(text)
	}
	if in, any := inRuns(samples, func(s *Sample) bool { return s.HugePeak == nil }); any && !failedAll {
		why := "the program ended before its huge pages could be counted"
		if samples[0].attached {
			why = "what is on huge pages could not be read of the process"
		}
		notes.Add(in + why)
	}
	if w := Profile(samples); w != nil {
		for _, n := range w.Notes {
			notes.Add(n)
		}
	}
}

// Watched says of which time the figures of a process are that ran already.
func (s *Sample) Watched(pid int) string {
	what := "peaks are" // what is not known of GC cycles is a note of its own
	if s.GCCounted == GCComplete {
		what = "peaks and GC cycles are"
	}
	return fmt.Sprintf("process %d was watched for %s of its life; %s of that time", pid, unit.Seconds(s.Wall), what)
}
