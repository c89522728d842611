package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/input"
)

// A Result is a result file that was read.
type Result struct {
	Name string // of the file, for the reader
	JSON []byte
	Of   Kind
}

// A Kind is what one command finds, or several of a kind: *File of run, tune and run
// --attach, *AB, *Lab, *Inspect, *Doctor, *Suggest, *Collapse, *Load, *Sites, *Charge.
type Kind interface {
	JSON() ([]byte, error)
	head() *Header
}

// Program is the result of run, tune or run --attach; nil for another one.
func (r *Result) Program() *File {
	f, _ := r.Of.(*File)
	return f
}

// kinds are those of the schemas that have one.
var kinds = map[string]func() Kind{
	InspectSchema:  func() Kind { return new(Inspect) },
	DoctorSchema:   func() Kind { return new(Doctor) },
	SuggestSchema:  func() Kind { return new(Suggest) },
	CollapseSchema: func() Kind { return new(Collapse) },
	LoadSchema:     func() Kind { return new(Load) },
	SitesSchema:    func() Kind { return new(Sites) },
	ChargeSchema:   func() Kind { return new(Charge) },
}

// Read reads a result file: run, tune and lab (folio/1), inspect, doctor, suggest,
// collapse, load, inspect --heap, inspect --cgroup and leaks.
// The error says what is wrong with it.
func Read(name string, data []byte) (*Result, error) {
	if err := bounded(data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var head struct {
		Schema string `json:"schema"`
		Kind   string `json:"kind"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("%s: not a result of folio: %w", name, notJSON(data, err))
	}
	r := &Result{Name: name, JSON: data}
	switch make := kinds[head.Schema]; {
	case head.Schema == Schema && head.Kind == KindLab:
		r.Of = new(Lab)
	case head.Schema == Schema && (head.Kind == KindRun || head.Kind == KindTune || head.Kind == KindAttach):
		r.Of = new(File)
	case head.Schema == Schema && head.Kind == KindAB:
		r.Of = new(AB)
	case make != nil:
		r.Of = make()
	case head.Schema == "":
		return nil, fmt.Errorf("%s: not a result of folio: it names no schema", name)
	case strings.HasPrefix(head.Schema, "folio"):
		return nil, fmt.Errorf("%s: schema %q, kind %q: this folio does not know it: use the one that wrote it, or a newer one", name,
			head.Schema, head.Kind)
	default:
		return nil, fmt.Errorf("%s: not a result of folio: schema %q", name, head.Schema)
	}
	if err := json.Unmarshal(data, r.Of); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", name, jsonError(err))
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", name, err)
	}
	return r, nil
}

// bounded counts what would take memory of its own: a few bytes of a file can ask for
// an object of hundreds.
func bounded(data []byte) error {
	objects, values := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			objects++
			values++
		case ',':
			values++
		}
	}
	switch {
	case objects > input.MaxObjects:
		return &input.TooLargeError{What: "the result", Most: input.MaxObjects, Unit: "objects and lists"}
	case values > input.MaxValues:
		return &input.TooLargeError{What: "the result", Most: input.MaxValues, Unit: "values"}
	}
	return nil
}

// notJSON says why data, of which err is the parser's opinion, is not JSON.
func notJSON(data []byte, err error) error {
	text := bytes.TrimSpace(data)
	var first json.RawMessage
	switch {
	case len(text) == 0:
		return errors.New("it is empty")
	case bytes.HasPrefix(text, []byte("<!DOCTYPE html>")):
		return errors.New("it is a page: its button Download JSON takes the result out")
	case json.NewDecoder(bytes.NewReader(text)).Decode(&first) == nil && len(first) < len(text) && text[len(first)] == '\n':
		return errors.New("it has more than one result, as inspect --watch --json - writes them: take one line of it")
	}
	if len(text) > 0 && text[0] != '{' && text[0] != '[' {
		return errors.New("it is not JSON: want a file that --json wrote")
	}
	return jsonError(err)
}

// jsonError says where in the file an error is.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if syntax.Error() == "unexpected end of JSON input" {
			return errors.New("it ends too early: was it copied while it was written?")
		}
		return fmt.Errorf("byte %d: %w", syntax.Offset, err)
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && kind.Field != "" {
		return fmt.Errorf("byte %d: %s cannot be a JSON %s", kind.Offset, kind.Field, kind.Value)
	}
	return err
}

// check refuses what the pages could not be made of, and computes what they rely on.
func (r *Result) check() error {
	switch f := r.Of.(type) {
	case *Inspect:
		if f.Process == nil && f.Processes == nil {
			return errors.New("neither process nor processes")
		}
		if f.Process != nil {
			return f.Process.OverTime.check()
		}
	case *Sites:
		if f.Leaks != nil {
			return f.Leaks.OverTime.check()
		}
	case *Load:
		return f.Check()
	case *File:
		if f.Live != nil && !f.Live.Timeline.Valid() {
			return errors.New("live has a timeline of lists of different lengths")
		}
		var all []*trial.Sample
		for _, a := range f.Arms {
			if err := checkArm(a.Name, a.Samples, a.Tree); err != nil {
				return err
			}
			all = append(all, a.Samples...)
		}
		trial.Together(all...)
	case *AB:
		if err := f.Check(); err != nil {
			return err
		}
		var all []*trial.Sample
		for _, a := range f.Arms {
			if err := checkArm(a.Name, a.Samples, a.Tree); err != nil {
				return err
			}
			all = append(all, a.Samples...)
		}
		trial.Together(all...)
	case *Suggest:
		if f.Tree != nil && !f.Tree.Valid() {
			return errors.New("a call tree that is none")
		}
	case *Lab:
		for _, e := range f.Experiments {
			for _, a := range e.Arms {
				if slices.Contains(a.Samples, nil) {
					return fmt.Errorf("arm %q has a sample that is null", a.Name)
				}
			}
		}
	}
	return nil
}

// checkArm checks the samples of an arm, and makes their figures agree.
func checkArm(name string, samples []*trial.Sample, tree *CallTree) error {
	for _, s := range samples {
		if s == nil {
			return fmt.Errorf("arm %q has a sample that is null", name)
		}
		if err := checkLoad(name, s); err != nil {
			return err
		}
		s.Recompute()
	}
	if tree != nil && !tree.Valid() {
		return fmt.Errorf("arm %q has a call tree that is none", name)
	}
	return nil
}

// checkLoad refuses the load of a sample whose figures do not agree.
func checkLoad(arm string, s *trial.Sample) error {
	if s.Load == nil {
		return nil
	}
	if err := s.Load.Check(); err != nil {
		return fmt.Errorf("arm %q: load: %w", arm, err)
	}
	return nil
}

// Samples counts the samples of a result; 0 for a snapshot.
func (r *Result) Samples() (n int) {
	switch f := r.Of.(type) {
	case *File:
		for _, a := range f.Arms {
			n += len(a.Samples)
		}
	case *AB:
		for _, a := range f.Arms {
			n += len(a.Samples)
		}
	case *Lab:
		for _, e := range f.Experiments {
			for _, a := range e.Arms {
				n += len(a.Samples)
			}
		}
	}
	return n
}
