package act

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// LeaseAnnotation is that of a pod with a [Lease].
const LeaseAnnotation = "folio.dev/canary"

// longestLease is how far ahead a lease may end: what forgot to take it back would keep it.
const longestLease = 24 * time.Hour

// A Lease gives settings to the Go processes of a pod until a time, whatever rules give it:
// folio-fleet canary puts it on pods. It has effect on pods with the label of [Policy.Canary].
type Lease struct {
	Container   string    `json:"container,omitempty"` // "" for all
	GOGC        string    `json:"gogc,omitempty"`
	MemoryLimit string    `json:"memoryLimit,omitempty"`
	Until       time.Time `json:"until"`
}

// String is the value of the annotation.
func (l Lease) String() string {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // a time of more than four digits a year
	}
	return string(data)
}

// ParseLease reads the value of the annotation.
func ParseLease(text string) (l Lease, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return l, err
	}
	return l, l.Check()
}

// Check returns why a lease has no effect.
func (l Lease) Check() error {
	switch {
	case l.GOGC == Recommended, l.MemoryLimit == Recommended:
		return errors.New("a lease has values of its own, not recommended ones")
	case l.Until.IsZero():
		return errors.New("until is missing")
	}
	return l.rule().check()
}

func (l Lease) rule() Rule {
	return Rule{Label: LeaseAnnotation, Container: l.Container, GOGC: l.GOGC, MemoryLimit: l.MemoryLimit}
}

// lent returns the rule that a lease makes for a container of a pod.
func (k *Keeper) lent(uid, id, container string) (Rule, bool) {
	if k.Canary.Label == "" {
		return Rule{}, false
	}
	if v, ok := k.Labels.Label(uid, id, k.Canary.Label); !ok || v != k.Canary.Value {
		return Rule{}, false
	}
	text := k.Labels.Annotation(uid, id, LeaseAnnotation)
	if text == "" {
		return Rule{}, false
	}
	l, err := ParseLease(text)
	now := k.Now()
	if left := l.Until.Sub(now); err == nil && left > longestLease {
		err = fmt.Errorf("until %s: want %v from now at most", l.Until.Format(time.RFC3339), longestLease)
	}
	if err != nil {
		if k.wrong != text {
			k.wrong = text
			k.Log.Warn("an annotation of a pod is wrong, and has no effect", "annotation", LeaseAnnotation, "uid", uid, "err", err)
		}
		return Rule{}, false
	}
	return l.rule(), now.Before(l.Until) && (l.Container == "" || l.Container == container)
}
