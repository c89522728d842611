package oom

import (
	"errors"
	"fmt"
	"io"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/shortage"
)

// chargeName is the file that says what the cgroup is charged for.
const chargeName = "cgroup.json"

// errNotRead is of processes that are not saved: there may be many.
var errNotRead = errors.New("it is not among the processes that are saved")

// source reads the cgroup that is short of memory: it takes the waterfalls that are saved, and
// reads no other. ok is false where the machine is short.
func (o *watcher) source(group string, seen map[int]*inspect.Process) (s *charge.Source, ok bool) {
	if group == "" {
		group = o.group
	}
	if group == "" {
		return nil, false
	}
	g, err := charge.At(group)
	if err != nil {
		return nil, false
	}
	s = charge.New(o.sys, g)
	s.Process = func(pid int) (*inspect.Process, error) {
		if p := seen[pid]; p != nil {
			return p, nil
		}
		return nil, errNotRead
	}
	return s, true
}

// putCharge puts what the cgroup is charged for.
func (o *watcher) putCharge(e shortage.Event, seen map[int]*inspect.Process, put putter) {
	s, ok := o.source(e.Group, seen)
	if !ok || o.Charge == nil {
		return
	}
	put(chargeName, "charge", func(w io.Writer) error {
		c, err := s.Read()
		if err != nil {
			return err
		}
		data, err := o.Charge(c)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
}

// charged says in a line what the cgroup is charged for, as the kernel counts it; "" if that is
// not known.
func (o *watcher) charged(group string) string {
	s, ok := o.source(group, nil)
	if !ok {
		return ""
	}
	c, err := s.Quick()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("charged: %s: %s", unit.Size(c.Usage), c.Brief())
}
