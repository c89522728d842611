package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/system/page"
)

// A Task is what one process of an arm does.
type Task struct {
	Experiment, Arm string

	Kind       page.Kind
	PageSize   int    // bytes; 0 for the kind's default
	How        string // the experiment's own word for how to do it
	Size       uint64 // bytes of memory, the largest where it is measured over sizes
	Count      int    // operations for each figure
	Goroutines int    // that work at once; 0 where it is always one
	Cgroup     string // directory of the memory cgroup to do it in; "" to stay
	Program    string // that does the work in place of this one; "" for none

	// Trace has the process's collector traced. It is nothing that the process
	// is told.
	Trace bool
}

// Args returns the task as command line arguments.
func (t Task) Args() []string {
	args := []string{t.Experiment, t.Arm, "kind=" + t.Kind.String()}
	add := func(key, value string, set bool) {
		if set {
			args = append(args, key+"="+value)
		}
	}
	add("page", strconv.Itoa(t.PageSize), t.PageSize != 0)
	add("how", t.How, t.How != "")
	add("size", strconv.FormatUint(t.Size, 10), t.Size != 0)
	add("count", strconv.Itoa(t.Count), t.Count != 0)
	add("goroutines", strconv.Itoa(t.Goroutines), t.Goroutines != 0)
	add("cgroup", t.Cgroup, t.Cgroup != "")
	add("program", t.Program, t.Program != "")
	return args
}

// ParseTask reads the arguments that [Task.Args] made.
func ParseTask(args []string) (Task, error) {
	var t Task
	if len(args) < 2 {
		return t, fmt.Errorf("want EXPERIMENT ARM KEY=VALUE..., have %q", args)
	}
	t.Experiment, t.Arm = args[0], args[1]
	for _, a := range args[2:] {
		if err := t.set(a); err != nil {
			return t, fmt.Errorf("%q: %w", a, err)
		}
	}
	return t, nil
}

func (t *Task) set(arg string) error {
	key, value, _ := strings.Cut(arg, "=")
	var n uint64
	var err error
	switch key {
	case "kind":
		for _, k := range []page.Kind{page.Base, page.THP, page.HugeTLB} {
			if k.String() == value {
				t.Kind = k
				return nil
			}
		}
		return fmt.Errorf("want base, thp or hugetlb")
	case "how":
		t.How = value
	case "cgroup":
		t.Cgroup = value
	case "program":
		t.Program = value
	case "page":
		n, err = strconv.ParseUint(value, 10, 31)
		t.PageSize = int(n)
	case "size":
		t.Size, err = strconv.ParseUint(value, 10, 63)
		if err == nil && t.Size > math.MaxInt {
			err = fmt.Errorf("more than the address space holds")
		}
	case "goroutines":
		n, err = strconv.ParseUint(value, 10, 31)
		t.Goroutines = int(n)
	case "count":
		n, err = strconv.ParseUint(value, 10, 31)
		t.Count = int(n)
	default:
		return fmt.Errorf("unknown key")
	}
	return err
}
