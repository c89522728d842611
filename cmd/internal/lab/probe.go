package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/page"
)

// A probe is the process of an arm: it hands out memory and takes figures.
type probe struct {
	task Task
	w    *bufio.Writer
}

// Work does a task in this process, and prints its figures to w. The process
// should do nothing else: it is moved to one processor, and perhaps to a cgroup.
// [ExitCode] is how the process should end.
func Work(t Task, w io.Writer) error {
	e, err := Lookup(t.Experiment)
	if err != nil {
		return err
	}
	if t.Size == 0 || t.Count == 0 {
		return fmt.Errorf("%s %s: size and count must be more than 0", t.Experiment, t.Arm)
	}
	if t.Cgroup != "" {
		if err := os.WriteFile(filepath.Join(t.Cgroup, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0); err != nil {
			return fmt.Errorf("enter the cgroup: %w", err)
		}
	}
	runtime.LockOSThread()
	p := &probe{task: t, w: bufio.NewWriter(w)}
	if err := e.work(p, t); err != nil {
		return fmt.Errorf("%s %s: %w", t.Experiment, t.Arm, err)
	}
	return p.w.Flush()
}

// errNotHere says that a task cannot be done as the machine is now, through no
// lack of it.
var errNotHere = errors.New("cannot be done now")

// ExitCode returns the exit code for an error of [Work].
func ExitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, page.ErrNotSupported):
		return exitNotSupported
	case errors.Is(err, errNotHere):
		return exitNotHere
	}
	return 1
}

const (
	exitNotSupported = 3 // the machine cannot do it at all
	exitNotHere      = 4
)

// value is a figure with its key.
type value struct {
	key string
	v   float64
}

// point prints the figures at one size, as a Go benchmark.
func (p *probe) point(size uint64, values ...value) {
	fmt.Fprintf(p.w, "Benchmark%s/size=%d 1", benchmark(p.task.Experiment), size)
	for _, v := range values {
		fmt.Fprintf(p.w, " %g %s", v.v, v.key)
	}
	fmt.Fprintln(p.w)
}

// benchmark is the name of an experiment's Go benchmark.
func benchmark(experiment string) string {
	return strings.ToUpper(experiment[:1]) + experiment[1:]
}

// A Point is what a trial measured at one size.
type Point struct {
	Size    uint64
	Figures map[string]float64
}

// Points returns what a trial of an arm measured, by size.
func Points(s *trial.Sample) []Point {
	by := make(map[uint64]map[string]float64)
	for k, v := range s.Metrics {
		name, key, _ := strings.Cut(k, " ")
		_, text, ok := strings.Cut(name, "/size=")
		size, err := strconv.ParseUint(text, 10, 64)
		if !ok || err != nil {
			continue
		}
		if by[size] == nil {
			by[size] = make(map[string]float64)
		}
		by[size][key] = v
	}
	var out []Point
	for size, f := range by {
		out = append(out, Point{size, f})
	}
	slices.SortFunc(out, func(a, b Point) int {
		if a.Size < b.Size {
			return -1
		}
		return 1
	})
	return out
}

// mapping maps bytes of the task's kind of memory.
func (p *probe) mapping(bytes uint64, commit page.Commit) (*page.Mapping, error) {
	return page.Map(int(bytes), &page.Options{Kind: p.task.Kind, PageSize: p.task.PageSize, Commit: commit, Name: "folio lab"})
}

// start returns where a mapping begins.
func start(m *page.Mapping) unsafe.Pointer {
	// Safety: the mapping lies outside the Go heap and stays until its Close;
	// the callers use the pointer before that only.
	return unsafe.Pointer(unsafe.SliceData(m.Bytes()))
}

// huge returns how much of a mapping is huge, of what is resident.
func huge(m *page.Mapping) (resident, huge uint64, err error) {
	if m.Kind() == page.HugeTLB {
		return uint64(m.Len()), uint64(m.Len()), nil
	}
	r, err := m.Residency(nil)
	if errors.Is(err, page.ErrNotSupported) {
		err = nil
	}
	return r.Resident, r.Huge + r.HugeUnknown, err
}

// median returns the middle of durations, which it sorts.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// quantile returns the duration that a part q of sorted ones do not exceed.
func quantile(sorted []time.Duration, q float64) time.Duration {
	i := sort.Search(len(sorted), func(i int) bool { return float64(i+1) >= q*float64(len(sorted)) })
	return sorted[min(i, len(sorted)-1)]
}

// per returns a time for each of n things, in seconds.
func per(d time.Duration, n uint64) float64 { return d.Seconds() / float64(n) }
