package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// A File is all that was measured: the tables come from it alone.
type File struct {
	Schema   string     `json:"schema"`
	Host     host.Info  `json:"host"`
	Begun    time.Time  `json:"begun"`
	Rounds   int        `json:"rounds"`
	Duration float64    `json:"duration_seconds"` // of each load; of the services that do not say
	Warmup   float64    `json:"warmup_seconds"`
	Services []*Service `json:"services"`
}

const schema = "folio-bench-server/1"

// A Service is what was measured of one.
type Service struct {
	Name  string  `json:"name"`
	Limit uint64  `json:"limit_bytes"`
	Rate  float64 `json:"rate_per_second"`
	// Duration and Warmup are of each load.
	Duration float64 `json:"duration_seconds,omitempty"`
	Warmup   float64 `json:"warmup_seconds,omitempty"`
	// RateText says how the rate was found, and RateSteps what was tried; empty for a rate
	// that was given.
	RateText  string          `json:"rate_text,omitempty"`
	RateSteps []load.RateStep `json:"rate_steps,omitempty"`

	Stopped string `json:"stopped,omitempty"` // why it was not measured to the end
	Tune    *Tuned `json:"tune"`
	Arms    []*Arm `json:"arms"`
}

// Tuned is the answer of folio tune.
type Tuned struct {
	Command string          `json:"command"`
	Seconds float64         `json:"elapsed_seconds"`
	State   string          `json:"state"`
	Arm     string          `json:"arm"`
	Setting *result.Setting `json:"setting"`         // null without an answer
	Error   string          `json:"error,omitempty"` // why there is none
}

// An Arm has the runs of an arm, in the order of rounds.
type Arm struct {
	Name    string         `json:"name"`
	Setting result.Setting `json:"setting"`
	Late    int            `json:"late_runs"` // dropped because the generator was late
	Runs    []*Run         `json:"runs"`

	setting trial.Setting
}

// A Run is a run that counts, or failed.
type Run struct {
	Round  int           `json:"round"` // from 0
	Sample *trial.Sample `json:"sample"`
	// Collecting is for how long GC cycles ran under load; null where not all can be seen.
	Collecting *float64 `json:"gc_running_seconds"`
}

// rounds is how many rounds were made: fewer than were asked for where -within ended them.
func (s *Service) rounds() (n int) {
	for _, a := range s.Arms {
		for _, r := range a.Runs {
			n = max(n, r.Round+1)
		}
	}
	return n
}

// counts says that the latencies do.
func (r *Run) counts() bool { return r.Sample.OK() && r.Sample.Load != nil }

// readFiles reads the files of a flag, separated by commas, that were measured alike, as one.
// Rounds of one service in several files follow each other.
func readFiles(flag, names string) (*File, error) {
	var all *File
	for name := range strings.SplitSeq(names, ",") {
		f, err := readFile(flag, name)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = f
		} else if err := all.more(f); err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, name, err)
		}
	}
	return all, nil
}

// more adds what was measured later.
func (f *File) more(later *File) error {
	for _, s := range later.Services {
		i := slices.IndexFunc(f.Services, func(o *Service) bool { return o.Name == s.Name })
		if i < 0 {
			f.Services = append(f.Services, s)
		} else if err := f.Services[i].more(s); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// after returns the rounds of a file and then these, which both stay as they are.
func (f *File) after(before []byte) (*File, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	all, err := parse(before)
	if err != nil {
		return nil, err
	}
	later, err := parse(data)
	if err != nil {
		return nil, err
	}
	for _, s := range all.Services {
		if slices.ContainsFunc(later.Services, func(o *Service) bool { return o.Name == s.Name }) {
			s.Stopped = "" // it goes on
		}
	}
	return all, all.more(later)
}

// more adds the rounds of the same service that were measured later.
func (s *Service) more(later *Service) error {
	if s.Rate != later.Rate || s.Limit != later.Limit {
		return errors.New("a file before has it at another rate or limit")
	}
	if s.Duration != later.Duration || s.Warmup != later.Warmup {
		return fmt.Errorf("loads of %v s after %v s: those of a file before have %v s after %v s", later.Duration, later.Warmup, s.Duration, s.Warmup)
	}
	var settings *load.Settings // of all runs, which are merged by them: the port is another
	for _, a := range s.Arms {
		for _, r := range a.Runs {
			if r.counts() {
				settings = &r.Sample.Load.Settings
			}
		}
	}
	rounds := s.rounds()
	for _, a := range later.Arms {
		i := slices.IndexFunc(s.Arms, func(o *Arm) bool { return o.Name == a.Name })
		switch {
		case i < 0:
			s.Arms = append(s.Arms, &Arm{Name: a.Name, Setting: a.Setting, Runs: []*Run{}})
			i = len(s.Arms) - 1
		case !reflect.DeepEqual(s.Arms[i].Setting, a.Setting):
			return fmt.Errorf("a file before has other settings for the arm %s", a.Name)
		}
		s.Arms[i].Late += a.Late
		for _, r := range a.Runs {
			r.Round += rounds
			if r.counts() && settings != nil {
				r.Sample.Load.Settings.URLs = settings.URLs
			}
			s.Arms[i].Runs = append(s.Arms[i].Runs, r)
		}
	}
	if s.Tune == nil {
		s.Tune = later.Tune
	}
	s.Stopped = cmp.Or(s.Stopped, later.Stopped)
	return nil
}

func readFile(flag, name string) (*File, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	f, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return f, nil
}

func parse(data []byte) (*File, error) {
	f := &File{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, err
	}
	if f.Schema != schema {
		return nil, fmt.Errorf("schema %q: want %q", f.Schema, schema)
	}
	for _, s := range f.Services {
		if s.Duration == 0 {
			s.Duration, s.Warmup = f.Duration, f.Warmup
		}
		for _, a := range s.Arms {
			for _, r := range a.Runs {
				if r.Sample == nil {
					return nil, fmt.Errorf("%s, %s: a run has no sample", s.Name, a.Name)
				}
			}
		}
	}
	return f, nil
}

// without returns env without a variable.
func without(env []string, key string) (out []string) {
	for _, kv := range env {
		if !strings.HasPrefix(kv, key+"=") {
			out = append(out, kv)
		}
	}
	return out
}
