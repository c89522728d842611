package diagnose

import (
	"fmt"
	"go/version"
	"math"

	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// memoryLimit returns the limit in effect, math.MaxInt64 for none. sure is
// false when only the environment tells: the program may have set one itself.
func (p *Process) memoryLimit() (limit uint64, from Reading, sure bool, err error) {
	if s, rerr := p.Runtime.get(); rerr == nil && s.After.Limit != nil {
		l := *s.After.Limit
		if unlimited, _ := s.After.Unlimited(); unlimited {
			return math.MaxInt64, p.runtime("no memory limit"), true, nil
		}
		return uint64(max(l, 0)), p.runtime("memory limit %s", unit.Size(uint64(max(l, 0)))), true, nil
	}
	value, set, err := p.env("GOMEMLIMIT")
	if err != nil {
		return 0, Reading{}, false, err
	}
	from = Reading{p.file("environ"), "no GOMEMLIMIT"}
	if set {
		from.Says = "GOMEMLIMIT=" + value
	}
	if value == "" || value == "off" {
		return math.MaxInt64, from, false, nil
	}
	limit, err = unit.ParseSize(value)
	return limit, from, false, err
}

// unsure is what to say where only the environment was seen.
func (p *Process) unsure() string {
	if p.Runtime.Err == nil {
		return ""
	}
	return " The program may set one itself (debug.SetMemoryLimit), which cannot be seen here: " + p.Runtime.Err.Error() + "."
}

const (
	freeTmpfs = "delete files of tmpfs (an emptyDir of medium Memory, /dev/shm). See which there are:"
	listTmpfs = "df -t tmpfs"
)

// fits says which limit fits, or that none helps. Without a look at the runtime there is no
// number.
func (f *Facts) fits(l procmem.Limit, do string) Step {
	fit, ok := f.fit(l)
	switch {
	case !ok && f.Process == nil:
		return Step{Do: do + ": of a Go program in it, the number that fits is said by:", Code: "folio doctor PID"}
	case !ok:
		return Step{Do: do + ": " + unit.Size(l.Bytes) + " less what is outside the Go runtime, which could not be measured, less a margin of " + unit.Size(memlimit.Margin(l.Bytes)) + "."}
	case fit.Most == 0 && fit.Shared >= fit.Outside/2:
		return Step{Do: fit.Reason() + " Raise the limit, or " + freeTmpfs, Code: listTmpfs}
	case fit.Most == 0:
		return Step{Do: fit.Reason() + " Raise the limit, or free that. See what the process has:", Code: fmt.Sprintf("folio inspect %d", f.Process.PID)}
	}
	return Step{Do: do + ": " + fit.Reason(), Code: fit.Setting()}
}

// uses is what is charged to the level of a limit.
func uses(l procmem.Limit) Reading {
	text := "limit " + unit.Size(l.Bytes)
	for _, part := range []struct {
		name  string
		bytes *uint64
	}{{"anonymous", l.Memory.Anonymous}, {"tmpfs and other shared memory", l.Memory.Shared}, {"kernel", l.Memory.Kernel}} {
		if part.bytes != nil {
			text += ", " + part.name + " " + unit.Size(*part.bytes)
		}
	}
	return Reading{l.Level(), text}
}

func lookNoLimit(f *Facts) ([]Finding, error) {
	p := f.Process
	container, ok, err := f.limit()
	if err != nil || !ok {
		return nil, err
	}
	limit, from, sure, err := p.memoryLimit()
	if err != nil || limit < math.MaxInt64 {
		return nil, err
	}
	h := Finding{
		What:     fmt.Sprintf("The container's limit is %s; the program has no memory limit.", unit.Size(container.Bytes)),
		Evidence: []Reading{uses(container), from},
		Means:    "The heap may grow to twice the live heap before a GC cycle, past the container's limit: the kernel then kills the program, although half of it is garbage. Further below the limit there may be room that would save GC cycles.",
		Fix:      []Step{f.fits(container, "Set one")},
	}
	if fit, ok := f.fit(container); !ok || fit.Most > 0 {
		h.Fix = append(h.Fix, Step{Do: "Or import the package that reads the limit and tunes GOGC within it:", Code: `import _ "github.com/foliomem/folio/auto"`})
	}
	if !sure {
		h.Means += p.unsure()
	}
	if held, rss := p.Runtime.Value.After.Held, p.Status.Value.VmRSS; held != nil && rss != nil && *held < *rss/10 {
		h.Severity = Note
		h.Means += fmt.Sprintf(" Now the Go runtime holds %s of %s, so most of the memory is not the GC's.", unit.Size(*held), unit.Size(*rss))
	}
	if v := p.release(); v != "" && version.Compare(v, "go1.19") < 0 {
		step := f.fits(container, v+" has no memory limit: build it with Go 1.19 or newer, and set one")
		h.Fix = []Step{step}
	}
	return []Finding{h}, nil
}

func lookLimitAbove(f *Facts) ([]Finding, error) {
	p := f.Process
	container, ok, err := f.limit()
	if err != nil || !ok {
		return nil, err
	}
	limit, from, _, err := p.memoryLimit()
	if err != nil || limit == math.MaxInt64 {
		return nil, err
	}
	fit, known := f.fit(container)
	if !known {
		fit = memlimit.Container{Limit: container.Bytes}.Fit(memlimit.Runtime{}, 0)
	}
	if !fit.Breaks(limit) {
		return nil, nil
	}
	h := Finding{
		What:     fmt.Sprintf("The program's memory limit is %s, the container's only %s.", unit.Size(limit), unit.Size(container.Bytes)),
		Evidence: []Reading{from, uses(container)},
		Means:    "The container's limit is reached first: the kernel kills the program before the GC starts to work harder.",
		Fix:      []Step{f.fits(container, "Set a limit that fits")},
	}
	if limit <= container.Bytes {
		h.What = fmt.Sprintf("The program's memory limit, %s, is %s of the container's %s, with %s outside the Go runtime: together more than fits.", unit.Size(limit),
			unit.Percent(float64(limit)/float64(container.Bytes)), unit.Size(container.Bytes), unit.Size(fit.Outside))
		h.Means = "GOMEMLIMIT counts what the Go runtime maps. All else is charged to the same container: other memory of processes, tmpfs, page tables and sockets. " + h.Means
	}
	for _, o := range fit.Others {
		says := "no memory limit"
		if o.Limit > 0 {
			says = "memory limit " + unit.Size(o.Limit)
		}
		h.Evidence = append(h.Evidence, Reading{fmt.Sprintf("the runtime of process %d (%s)", o.PID, o.Name), says + ", in memory " + unit.Size(o.Resident)})
	}
	return []Finding{h}, nil
}
