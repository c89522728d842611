// Package advice is the catalogue of what Folio says about the system's settings for
// huge pages: each rule has one threshold, one wording, one fix and one source, whoever
// says it: folio doctor, folio inspect, package goheap.
package advice

import (
	"fmt"

	"github.com/foliomem/folio/internal/base/unit"
)

// DenseWindow is the density from which on a window is worth a huge page, and
// LeastDenseWindow the least that may be asked for: a window less full would more than
// double.
const (
	DenseWindow      = 0.8
	LeastDenseWindow = 0.5
)

// Facts are what the rules look at. Empty and nil are unknown.
type Facts struct {
	Enabled, Defrag string // the chosen words of transparent_hugepage
	MaxPtesNone     *int   // of khugepaged
	WindowPages     int    // base pages of a huge page
	// Asks says that the program asked for huge pages (MADV_HUGEPAGE). Anyone says that
	// the facts are a machine's, where some program may ask.
	Asks, Anyone bool
	// OptedOut says that the process has no huge pages (PR_SET_THP_DISABLE).
	OptedOut bool
}

// given says that the kernel makes huge pages of the memory that the facts are about.
func (f *Facts) given() bool {
	return f.Enabled == "always" || f.Enabled == "madvise" && (f.Asks || f.Anyone)
}

// whose is the memory of which the kernel makes huge pages.
func (f *Facts) whose() string {
	if f.Enabled == "always" {
		return "any memory"
	}
	return "memory that asked for huge pages"
}

// An Advice is what a rule found.
type Advice struct {
	Rule  string // its ID, which does not change
	What  string // a sentence
	Means string // what it leads to
	Do    string // a sentence
	Code  string // the command, for a shell
	See   string // the source
}

// Line returns the advice in one line: what, and the command.
func (a Advice) Line() string { return a.What + " " + a.Do + " " + a.Code }

// FilledShare is the part of a huge page that khugepaged may fill with new memory before
// it matters: from there on a heap can take 8/7 of what it holds.
const FilledShare = 8

// The files of the settings.
const (
	EnabledFile     = "/sys/kernel/mm/transparent_hugepage/enabled"
	DefragFile      = "/sys/kernel/mm/transparent_hugepage/defrag"
	MaxPtesNoneFile = "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none"
)

func set(value, file string) string { return fmt.Sprintf("echo %s | sudo tee %s", value, file) }

// Fills says that khugepaged, set so, makes huge pages of windows of which more than an
// eighth is missing.
func (f *Facts) Fills() bool {
	return f.WindowPages > 0 && f.MaxPtesNone != nil && *f.MaxPtesNone > f.WindowPages/FilledShare
}

// stalls says that a page fault waits until a huge page has been made.
func (f *Facts) stalls() bool {
	switch f.Defrag {
	case "always":
		return f.given()
	case "madvise":
		return f.Asks && f.given()
	}
	return false
}

// rules are all, in the order in which they are said.
var rules = []struct {
	id    string
	fires func(*Facts) bool
	say   func(*Facts) Advice
}{
	{"thp-disabled", func(f *Facts) bool { return f.OptedOut }, func(*Facts) Advice {
		return Advice{
			What:  "Transparent huge pages are off for this process.",
			Means: "It, or what started it, called prctl(PR_SET_THP_DISABLE); children inherit that. Neither madvise nor MADV_COLLAPSE works, so goheap, auto and folio collapse can do nothing.",
			Do:    "Remove it from whatever starts the process: MemoryTHP=disable of a systemd unit, a launcher, a container's init.",
			See:   "https://man7.org/linux/man-pages/man2/PR_SET_THP_DISABLE.2const.html",
		}
	}},
	{"max-ptes-none", func(f *Facts) bool { return f.given() && f.Fills() }, func(f *Facts) Advice {
		most := *f.MaxPtesNone
		used := max(f.WindowPages-most, 1)
		return Advice{
			What:  "khugepaged re-populates memory that programs have released.",
			Means: fmt.Sprintf("It makes huge pages of %s even with only %d of %d base pages in use, so a heap that has shrunk can grow to %s times what it holds, in the background, over minutes.", f.whose(), used, f.WindowPages, unit.Rate(float64(f.WindowPages)/float64(used))),
			Do:    "Make huge pages only of windows that are full:", Code: set("0", MaxPtesNoneFile),
			See: "https://go.dev/doc/gc-guide#Linux_THP_max_ptes_none_workaround",
		}
	}},
	{"defrag-always", (*Facts).stalls, func(f *Facts) Advice {
		who, do, value := "any program", "Wait only where a program asked, and have the rest made in the background:", "defer+madvise"
		if f.Enabled != "always" {
			who = "a program that asks for huge pages"
		}
		if f.Asks {
			do, value = "Have them made in the background:", "defer"
		}
		return Advice{
			What: "Page faults wait until huge pages have been made (defrag is " + f.Defrag + ").",
			Means: "When no huge page is free, the fault of " + who +
				" moves other memory around until one is: pauses of milliseconds, in the middle of an allocation.",
			Do: do, Code: set(value, DefragFile),
			See: "https://docs.kernel.org/admin-guide/mm/transhuge.html",
		}
	}},
}

// Find returns what the rules found.
func Find(f *Facts) (out []Advice) {
	for _, r := range rules {
		if r.fires(f) {
			a := r.say(f)
			a.Rule = r.id
			out = append(out, a)
		}
	}
	return out
}

// ByID returns what the rule with an ID found, if it found anything.
func ByID(id string, f *Facts) (Advice, bool) {
	for _, a := range Find(f) {
		if a.Rule == id {
			return a, true
		}
	}
	return Advice{}, false
}
