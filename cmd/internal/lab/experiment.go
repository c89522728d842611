package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/spelling"
	"github.com/foliomem/folio/cmd/internal/lab/settings"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/page"
)

// An Experiment answers one question about this machine's memory.
type Experiment struct {
	Name     string
	Family   string // a name for several experiments together; "" if there is none
	Question string
	Source   string   // what was reported of it elsewhere, in a line
	Figures  []Figure // what is measured; the first one decides
	Curves   int      // so many of the first figures are listed by size
	Base     string   // the arm that the others are compared with; "" for none
	Across   bool     // each figure is a benchmark: a table has a row for each, and an arm beside the base
	Apart    bool     // it runs only when it is named: it builds programs, of modules to be downloaded

	defaults, quick Params
	arms            func(*Machine, Params) []*Arm
	work            func(*probe, Task) error
	meaning         func(*Outcome) []string
	charts          []Chart // nil: as Drawn makes them
	noWarmup        bool    // each trial makes its own conditions
	// trace names arms that run again in the end, with the GC traced and sampled:
	// see [ArmResult.Traced]. Nil for none.
	trace func(*Outcome) []*ArmResult
}

// A Figure is one thing that an arm measures.
type Figure struct {
	Key   string // as in JSON: times are seconds, sizes bytes
	Label string // as a table's heading
	Unit  string // as in the Go benchmark format
	Minor bool   // not in the table
	Same  bool   // all arms must find the same: it says what was done, not how fast
}

// Params are how much work the arms of an experiment do.
type Params struct {
	Size   uint64 // bytes of memory, the largest where it is measured over sizes
	Count  int    // operations for each figure
	Rounds int
}

// An Arm is one way to do an experiment's work.
type Arm struct {
	Name  string
	About string
	Task  Task
	// Group is the table that the arm is shown in, "" for the only one.
	Group string
	// Work is what the arm does, where arms of an experiment do several things, and
	// Varies what differs among those that do the same: VariesGOGC, VariesGoroutines.
	Work, Varies string
	// Setting is what its processes run under instead of what keeps the Go
	// runtime from interfering with what is measured: arms are of the runtime
	// itself then. Nil for that.
	Setting *trial.Setting
	// Prepare makes what the arm needs, before its first trial; nil for nothing.
	// An error is why it cannot run. The directory is the lab's own, and is removed
	// when it ends.
	Prepare func(ctx context.Context, a *Arm, dir string, quick bool) error
	// Changes are the system-wide settings that the arm needs.
	Changes []settings.Change
	// NotRun is why the arm cannot run here; "" if it can.
	NotRun string
	// Forbidden says that NotRun is only that system-wide settings may not be changed.
	Forbidden bool
	// Missing says that NotRun is a lack of the machine that keeps the
	// experiment from its answer, not a permission that was not given.
	Missing bool
}

// Experiments returns all experiments, in the order in which they run.
func Experiments() []*Experiment {
	return []*Experiment{pages, faults, madvise, fork, bloat, stall, gogc, arenas, arenasJSON, arenasIndex, index, malloc, assist}
}

// Default returns the experiments that run where none is named.
func Default() []*Experiment {
	return slices.DeleteFunc(Experiments(), func(e *Experiment) bool { return e.Apart })
}

// Lookup returns the experiment of a name. The error suggests the nearest.
func Lookup(name string) (*Experiment, error) {
	all, err := Select(name)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		return nil, fmt.Errorf("%s: that is %d experiments, not one", name, len(all))
	}
	return all[0], nil
}

// Select returns the experiment of a name, or those of a family. The error
// suggests the nearest name.
func Select(name string) (all []*Experiment, err error) {
	var names []string
	for _, e := range Experiments() {
		if e.Name == name || e.Family == name && name != "" {
			all = append(all, e)
		}
		if e.Family != "" && !slices.Contains(names, e.Family) {
			names = append(names, e.Family)
		}
		names = append(names, e.Name)
	}
	if len(all) > 0 {
		return all, nil
	}
	if near := spelling.Nearest(name, names); near != "" {
		return nil, fmt.Errorf("unknown experiment %s: did you mean %s?", name, near)
	}
	return nil, fmt.Errorf("unknown experiment %s: want one of %s", name, strings.Join(names, ", "))
}

// Arms returns the arms of the experiment on a machine.
func (e *Experiment) Arms(m *Machine, p Params) []*Arm {
	arms := e.arms(m, p)
	for _, a := range arms {
		a.Task.Experiment, a.Task.Arm = e.Name, a.Name
		a.Task.Count = p.Count
		if a.Task.Size == 0 {
			a.Task.Size = p.Size
		}
	}
	return arms
}

// changed returns what the arm sets a file to, by the file's last name; "" for nothing.
func (a *Arm) changed(name string) string {
	for _, c := range a.Changes {
		if filepath.Base(c.Path) == name {
			return c.Value
		}
	}
	return ""
}

// memoryArm returns an arm whose memory has pages of a kind and size, with what
// it needs for bytes of memory.
func (m *Machine) memoryArm(name, about string, kind page.Kind, size int, bytes uint64) *Arm {
	a := &Arm{Name: name, About: about, Task: Task{Kind: kind, PageSize: size}}
	switch kind {
	case page.THP:
		m.needTHP(a, size)
	case page.HugeTLB:
		m.needPool(a, size, bytes)
	}
	return a
}

// Size returns how much memory the experiment takes by default and under Quick,
// as far as that fits.
func (e *Experiment) Size() [2]uint64 { return [2]uint64{e.defaults.Size, e.quick.Size} }

// List returns the arms of the experiment on a machine, at its default size.
func (e *Experiment) List(m *Machine) []*Arm {
	p, _, err := e.params(m, Options{})
	if err != nil {
		p = e.defaults
	}
	return e.Arms(m, p)
}
