package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Parent is where this process makes cgroups, with the limits that they get. A signal that
// asks folio to end does not do so as long as there is one: whoever opens a Parent is told of
// signals as well, and closes it.
type Parent struct {
	Limits Limits

	kernel kernel
	owner  owner
	places []place
	guard  *guard // nil for none
	stay   *stay  // how this process made room below its own cgroup; nil where it need not
	caught chan os.Signal

	index  int64 // tells the cgroups of this parent from those of others of this process
	mu     sync.Mutex
	made   int
	groups map[*Group]bool
	closed bool
}

// A place is a directory in which cgroups are made.
type place struct {
	dir         string
	unified     bool
	controllers []string // that the limits need
}

func (p place) has(controller string) bool { return slices.Contains(p.controllers, controller) }

// opened counts the parents of this process.
var opened atomic.Int64

// prefix begins what the cgroups of this parent are for, in their names.
func (p *Parent) prefix() string { return strconv.FormatInt(p.index, 10) + "." }

// parents are those that are open.
var parents = struct {
	sync.Mutex
	all map[*Parent]bool
}{all: make(map[*Parent]bool)}

// Open finds out where cgroups with these limits can be made, and makes one and removes it
// to see that they can. The error is one line that says what to do. What a process that was
// killed left there is removed first. If this process is killed, a second one removes its
// cgroups. It returns nil for no limits.
func Open(fs procmem.FS, l Limits) (*Parent, error) {
	if l.IsZero() {
		return nil, nil
	}
	p, err := open(fs, linux{}, l)
	if err == nil {
		p.startGuard()
	}
	return p, err
}

func open(fs procmem.FS, k kernel, l Limits) (_ *Parent, err error) {
	p := &Parent{Limits: l, index: opened.Add(1), kernel: k, groups: make(map[*Group]bool), caught: make(chan os.Signal, 1)}
	if p.owner, err = self(fs); err != nil {
		return nil, fmt.Errorf("make a cgroup for the program: %w", err)
	}
	sweep(fs, k)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(p.caught, s)
		}
	}
	parents.Lock()
	parents.all[p] = true
	parents.Unlock()
	err = p.find(fs)
	if err == nil {
		var g *Group
		if g, err = p.New(); err == nil {
			err = g.Remove()
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a cgroup for the program: %w; %s", err, p.advice(fs)), p.Close())
	}
	return p, nil
}

// find fills in where cgroups are made.
func (p *Parent) find(fs procmem.FS) error {
	for _, controller := range p.Limits.controllers() {
		dir, err := fs.CgroupDir(0, controller)
		if err != nil {
			return fmt.Errorf("the %s controller: %w", controller, err)
		}
		i := slices.IndexFunc(p.places, func(x place) bool { return x.dir == dir.Path })
		if i < 0 {
			i = len(p.places)
			p.places = append(p.places, place{dir: dir.Path, unified: dir.Unified})
		}
		p.places[i].controllers = append(p.places[i].controllers, controller)
	}
	for i := range p.places {
		if p.places[i].unified {
			if err := p.unify(fs, &p.places[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// advice says what to do where no cgroup can be made.
func (p *Parent) advice(fs procmem.FS) string {
	v2 := slices.ContainsFunc(p.places, func(x place) bool { return x.unified })
	switch {
	case v2 && fs.Systemd() && os.Geteuid() == 0:
		return "run folio below: systemd-run --scope -p Delegate=yes folio ..."
	case v2 && fs.Systemd():
		return "run folio below: systemd-run --user --scope -p Delegate=yes folio ..."
	case v2:
		return "run folio alone in a cgroup that its user may write, such as a privileged container with folio as its command"
	case len(p.places) > 0:
		return "run folio as root, or give its user the directories of its cgroups (" + p.dirs() + ")"
	}
	return "mount cgroups with this controller, or run without --cgroup-memory and --cgroup-cpus"
}

func (p *Parent) dirs() (text string) {
	for i, x := range p.places {
		if i > 0 {
			text += ", "
		}
		text += x.dir
	}
	return text
}

// New makes a cgroup with the limits.
func (p *Parent) New() (*Group, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errors.New("make a cgroup for the program: folio is ending")
	}
	p.made++
	name := p.owner.name(p.prefix() + strconv.Itoa(p.made))
	g := &Group{parent: p}
	p.groups[g] = true
	p.mu.Unlock()
	if err := g.make(name); err != nil {
		return nil, errors.Join(err, g.Remove())
	}
	return g, nil
}

// make makes the directories of a group.
func (g *Group) make(name string) error {
	g.mu.Lock() // a Remove waits, and then knows them all
	defer g.mu.Unlock()
	for _, x := range g.parent.places {
		dir := filepath.Join(x.dir, name)
		if err := g.parent.kernel.mkdir(dir); err != nil {
			return err
		}
		g.dirs = append(g.dirs, dir)
		for _, set := range g.parent.Limits.settings(x) {
			if err := g.parent.set(dir, set); err != nil {
				return err
			}
		}
	}
	return nil
}

// A setting is what is written to a file of a cgroup.
type setting struct {
	file, text string
	// or is a setting that does instead where the file is not there.
	or *setting
	// optional: where the file is not there, the kernel lacks what is turned off by it.
	optional bool
}

// settings lists what the limits are in a place, in the order in which it is written.
func (l Limits) settings(x place) (out []setting) {
	if x.has(memory) {
		limit := strconv.FormatUint(*l.Memory, 10)
		if x.unified {
			// As Kubernetes has it since 1.28: no program of which a part was killed.
			out = append(out, setting{file: "memory.max", text: limit}, setting{file: "memory.swap.max", text: "0", optional: true},
				setting{file: "memory.oom.group", text: "1", optional: true})
		} else {
			out = append(out, setting{file: "memory.limit_in_bytes", text: limit},
				setting{file: "memory.memsw.limit_in_bytes", text: limit, or: &setting{file: "memory.swappiness", text: "0"}})
		}
	}
	if x.has(cpu) {
		quota := strconv.FormatInt(l.quota(), 10)
		if x.unified {
			out = append(out, setting{file: "cpu.max", text: fmt.Sprintf("%s %d", quota, period)})
		} else {
			out = append(out, setting{file: "cpu.cfs_period_us", text: strconv.Itoa(period)}, setting{file: "cpu.cfs_quota_us", text: quota})
		}
	}
	return out
}

func (p *Parent) set(dir string, s setting) error {
	err := p.kernel.write(filepath.Join(dir, s.file), s.text)
	switch {
	case gone(err) && s.or != nil:
		return p.set(dir, *s.or)
	case gone(err) && s.optional:
		return nil
	case errors.Is(err, syscall.EINVAL) && s.file == "cpu.cfs_quota_us":
		return fmt.Errorf("%w: a cgroup above allows fewer CPUs than %v", err, *p.Limits.CPUs)
	case errors.Is(err, syscall.EBUSY) && s.file == "memory.limit_in_bytes":
		return fmt.Errorf("%w: %s is too little for an empty cgroup", err, unit.Exact(*p.Limits.Memory))
	}
	return err
}

func (p *Parent) forget(g *Group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.groups, g)
}

// Close kills what is in the cgroups, removes them, and puts back what was changed to make
// them. It may be called again.
func (p *Parent) Close() error {
	if p == nil {
		return nil
	}
	parents.Lock()
	delete(parents.all, p)
	parents.Unlock()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	var left []*Group
	for g := range p.groups {
		left = append(left, g)
	}
	p.mu.Unlock()
	defer signal.Stop(p.caught)
	var errs []error
	for _, g := range left {
		errs = append(errs, g.Remove())
	}
	// The guard may be where this process made room.
	return errors.Join(append(errs, p.guard.close(), p.stay.end(p.kernel))...)
}

// CloseAll closes all parents of this process: for the moment before it ends out of order.
func CloseAll() {
	parents.Lock()
	var all []*Parent
	for p := range parents.all {
		all = append(all, p)
	}
	parents.Unlock()
	for _, p := range all {
		_ = p.Close()
	}
}
