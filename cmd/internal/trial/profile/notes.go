package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/perf"
)

// fewSamples is a number of samples below which shares are guesses: with 100, a class of
// 20% is measured as something between 12 and 28%.
const fewSamples = 100

// A remark is a note, and how many samples it is about: of several runs together it is one
// note, about the samples of all.
type remark struct {
	about remarkKind
	count uint64
	text  string
}

type remarkKind int

const (
	ofRun    remarkKind = iota // the text is all
	ofNumber                   // "3 samples lost"
	ofShare                    // "5.0% of the samples are in libc"
)

func (k remark) String(samples uint64) string {
	switch k.about {
	case ofNumber:
		return unit.Plural(int(k.count), "sample") + " " + k.text
	case ofShare:
		return unit.Percent(float64(k.count)/float64(samples)) + " of the samples " + k.text
	}
	return k.text
}

// Note adds a note.
func (r *Result) Note(text string) { r.remark(remark{text: text}) }

// remark adds one, to one that says the same of other samples.
func (r *Result) remark(k remark) {
	i := slices.IndexFunc(r.remarks, func(o remark) bool { return o.about == k.about && o.text == k.text })
	if i < 0 {
		r.remarks = append(r.remarks, k)
	} else {
		r.remarks[i].count += k.count
	}
	r.sayNotes()
}

// sayNotes puts the remarks in words. Of few samples it says what the shares are worth; of
// too few ([Fewest]) there are none, which whoever shows them says.
func (r *Result) sayNotes() {
	r.Notes = nil
	for _, k := range r.remarks {
		if k.about == ofShare && float64(k.count) < leastNamed*float64(r.Samples) {
			continue
		}
		r.Notes = append(r.Notes, k.String(r.Samples))
	}
	if r.Samples >= Fewest && r.Samples < fewSamples {
		r.Notes = append(r.Notes, fmt.Sprintf("only %s: shares are rough; run the program for longer", unit.Plural(int(r.Samples), "sample")))
	}
}

// leastNamed is the part of the samples below which code without names matters to nobody.
const leastNamed = 0.005

// notesOf takes the notes of several runs together.
func (r *Result) notesOf(runs []*Result) {
	for _, run := range runs {
		for _, k := range run.remarks {
			r.remark(k)
		}
		if run.remarks == nil && run.Samples >= fewSamples { // else one may be of how few these were
			for _, text := range run.Notes {
				r.Note(text)
			}
		}
	}
	r.sayNotes()
}

func (c *Collector) notes(r *Result, info perf.Info, missing map[uint32]uint64) {
	if info.Reason != "" {
		r.Note(info.Reason)
	}
	if r.Lost > 0 {
		r.remark(remark{ofNumber, r.Lost, "lost: the machine was too busy for them to be read in time"})
	}
	if info.Kernel && c.opts.KernelSymbols == nil && r.Samples > 0 {
		r.Note("the kernel hides the names of its functions: what it did is told from who called it; echo 0 > /proc/sys/kernel/kptr_restrict shows them")
	}
	if r.UncertainNames != "" {
		r.Note(r.UncertainNames)
	}
	// Few samples in code without names matter to nobody.
	if r.Unsymbolized*100 > r.Samples {
		order := slices.SortedFunc(maps.Keys(missing), func(a, b uint32) int {
			return cmp.Or(cmp.Compare(missing[b], missing[a]), cmp.Compare(a, b))
		})
		for _, n := range order[:min(len(order), 3)] {
			o := c.objects[n]
			if float64(missing[n]) < leastNamed*float64(r.Samples) {
				break
			}
			text := ""
			switch {
			case o.err != nil:
				text = fmt.Sprintf("are in %s and have no names: %v", o.path, o.err)
			case o.memory && n == nowhere:
				text = "are at addresses that nothing is known to be mapped at"
			case o.memory:
				text = fmt.Sprintf("are in generated code (%s), which has no names", o.path)
			default:
				text = fmt.Sprintf("are in %s, in functions that it has no names for", o.path)
			}
			r.remark(remark{ofShare, missing[n], text})
		}
	}
	if c.folds > 0 {
		r.Note("there were more stacks than are kept: the profile has only the innermost call of the program of the first ones")
	}
	r.sayNotes()
}
