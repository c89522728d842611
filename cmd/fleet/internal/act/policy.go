// Package act changes the Go processes of pods that opted in by a label, as a policy file
// says: their heaps are put on huge pages, no more than its budget and not while memory is
// short; they get GOGC and GOMEMLIMIT within the memory limits of their containers, and lose
// them when the policy does not give them any more. It is the only part of the agent that
// changes anything, and runs as a container of its own.
package act

import (
	"fmt"
	"os"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/manifest"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Policy says which heaps are put on huge pages, and how far, and who gets which settings.
type Policy struct {
	Label, Value string  // of pods that opted in
	MinDensity   float64 // of a window: the share that is in memory
	Rate         uint64  // bytes a second
	Budget       uint64  // bytes a process, over its life
	Every        time.Duration
	Pressure     float64 // share of time in which tasks wait for memory: beyond it nothing is done
	Available    float64 // share of the node's memory that stays available
	Headroom     float64 // share of a container's memory limit that stays free
	Rules        []Rule  // the first that fits counts
	Canary       Canary
	Thrash       Thrash
}

// Canary is the label of pods that may have a [Lease]; none if Label is "".
type Canary struct{ Label, Value string }

// file is a Policy as it is written.
type file struct {
	Label      string  `json:"label"`
	MinDensity float64 `json:"minDensity"`
	Rate       string  `json:"rate"`
	Budget     string  `json:"budgetPerProcess"`
	Every      string  `json:"every"`
	Pressure   string  `json:"maxMemoryPressure"`
	Available  string  `json:"minNodeAvailable"`
	Headroom   string  `json:"minContainerHeadroom"`

	Settings []ruleFile  `json:"settings"`
	Canary   string      `json:"canary"`
	Thrash   *thrashFile `json:"thrash"`
}

// Default is what a policy file leaves out.
func Default() Policy {
	return Policy{
		Label: "folio.dev/collapse", Value: "true", MinDensity: inspect.MinDensity, Rate: 64 << 20, Budget: 4 << 30,
		Every: 5 * time.Minute, Pressure: 0.01, Available: 0.10, Headroom: 0.10,
	}
}

const mostPolicy = 64 << 10

// Read reads a policy file, in YAML or JSON.
func Read(path string) (Policy, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Policy{}, fmt.Errorf("cannot read the policy: %w", err)
	}
	if info.Size() > mostPolicy {
		return Policy{}, fmt.Errorf("the policy %s has %d bytes: not a policy", path, info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Policy{}, fmt.Errorf("cannot read the policy: %w", err)
	}
	p, err := parse(data)
	if err != nil {
		return Policy{}, fmt.Errorf("policy %s: %w", path, err)
	}
	return p, nil
}

func parse(data []byte) (Policy, error) {
	var f file
	if err := manifest.Unmarshal(data, &f); err != nil {
		return Policy{}, err
	}
	p := Default()
	if f.Label != "" {
		var err error
		if p.Label, p.Value, err = parseLabel(f.Label); err != nil {
			return p, err
		}
	}
	if f.MinDensity != 0 {
		p.MinDensity = f.MinDensity
	}
	if !(p.MinDensity >= inspect.LeastDensity && p.MinDensity <= 1) {
		return p, fmt.Errorf("minDensity: %v: want %v to 1: a sparser window would more than double", p.MinDensity, inspect.LeastDensity)
	}
	for _, s := range []struct {
		name, text string
		to         *uint64
	}{{"rate", f.Rate, &p.Rate}, {"budgetPerProcess", f.Budget, &p.Budget}} {
		if s.text == "" {
			continue
		}
		n, err := unit.ParseSize(s.text)
		if err != nil {
			return p, fmt.Errorf("%s: %w", s.name, err)
		}
		if n == 0 {
			return p, fmt.Errorf("%s: want more than 0", s.name)
		}
		*s.to = n
	}
	for _, s := range []struct {
		name, text string
		to         *float64
	}{{"maxMemoryPressure", f.Pressure, &p.Pressure}, {"minNodeAvailable", f.Available, &p.Available}, {"minContainerHeadroom", f.Headroom, &p.Headroom}} {
		if s.text == "" {
			continue
		}
		var percent float64
		var rest string
		if n, _ := fmt.Sscanf(s.text, "%g%s", &percent, &rest); n != 2 || rest != "%" || !(percent >= 0 && percent <= 100) {
			return p, fmt.Errorf("%s: %q: want a percentage such as 10%%", s.name, s.text)
		}
		*s.to = percent / 100
	}
	if f.Every != "" {
		d, err := time.ParseDuration(f.Every)
		if err != nil || d < 10*time.Second {
			return p, fmt.Errorf("every: %q: want a duration of 10s or more", f.Every)
		}
		p.Every = d
	}
	var err error
	if f.Canary != "" {
		if p.Canary.Label, p.Canary.Value, err = parseLabel(f.Canary); err != nil {
			return p, fmt.Errorf("canary: %w", err)
		}
	}
	if f.Thrash != nil {
		if p.Thrash, err = f.Thrash.thrash(); err != nil {
			return p, fmt.Errorf("thrash: %w", err)
		}
	}
	p.Rules, err = parseRules(f.Settings)
	return p, err
}
