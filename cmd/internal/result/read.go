package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/input"
)

// A Result is a result file that was read.
type Result struct {
	Name string // of the file, for the reader
	JSON []byte

	// One of these is set.
	Program *File // run, tune
	Lab     *Lab
	Inspect *Inspect
	Doctor  *Doctor
	Suggest *Suggest
	AB      *AB
	// There are no pages and no comparisons of a collapse, a load or sites.
	Collapse *Collapse
	Load     *Load
	Sites    *Sites
}

// Read reads a result file: run, tune and lab (folio/1), inspect, doctor, suggest,
// collapse, load, inspect --heap and leaks.
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
	var into any
	switch {
	case head.Schema == Schema && head.Kind == KindLab:
		into = made(&r.Lab)
	case head.Schema == Schema && (head.Kind == KindRun || head.Kind == KindTune || head.Kind == KindAttach):
		into = made(&r.Program)
	case head.Schema == Schema && head.Kind == KindAB:
		into = made(&r.AB)
	case head.Schema == InspectSchema:
		into = made(&r.Inspect)
	case head.Schema == DoctorSchema:
		into = made(&r.Doctor)
	case head.Schema == "":
		return nil, fmt.Errorf("%s: not a result of folio: it names no schema", name)
	case head.Schema == SuggestSchema:
		into = made(&r.Suggest)
	case head.Schema == CollapseSchema:
		into = made(&r.Collapse)
	case head.Schema == LoadSchema:
		into = made(&r.Load)
	case head.Schema == SitesSchema:
		into = made(&r.Sites)
	case strings.HasPrefix(head.Schema, "folio"):
		return nil, fmt.Errorf("%s: schema %q, kind %q: this folio does not know it: use the one that wrote it, or a newer one", name,
			head.Schema, head.Kind)
	default:
		return nil, fmt.Errorf("%s: not a result of folio: schema %q", name, head.Schema)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", name, jsonError(err))
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", name, err)
	}
	return r, nil
}

// made makes what a pointer is for.
func made[T any](p **T) *T {
	*p = new(T)
	return *p
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

// check refuses what the pages could not be made of.
func (r *Result) check() error {
	if r.Inspect != nil && r.Inspect.Process == nil && r.Inspect.Processes == nil {
		return errors.New("neither process nor processes")
	}
	if r.Inspect != nil && r.Inspect.Process != nil && r.Inspect.Process.OverTime != nil && !r.Inspect.Process.OverTime.sameLen() {
		return errors.New("over_time has lists of different lengths")
	}
	if r.Load != nil {
		return r.Load.Check()
	}
	if r.Program != nil {
		var all []*trial.Sample
		for _, a := range r.Program.Arms {
			for _, s := range a.Samples {
				if s == nil {
					return fmt.Errorf("arm %q has a sample that is null", a.Name)
				}
				if err := checkLoad(a.Name, s); err != nil {
					return err
				}
				s.Recompute() // the pages rely on figures that agree
			}
			if a.Tree != nil && !a.Tree.Valid() {
				return fmt.Errorf("arm %q has a call tree that is none", a.Name)
			}
			all = append(all, a.Samples...)
		}
		trial.Together(all...)
	}
	if r.AB != nil {
		if err := r.AB.Check(); err != nil {
			return err
		}
		var all []*trial.Sample
		for _, a := range r.AB.Arms {
			for _, s := range a.Samples {
				if err := checkLoad(a.Name, s); err != nil {
					return err
				}
				s.Recompute()
			}
			if a.Tree != nil && !a.Tree.Valid() {
				return fmt.Errorf("arm %q has a call tree that is none", a.Name)
			}
			all = append(all, a.Samples...)
		}
		trial.Together(all...)
	}
	if r.Suggest != nil && r.Suggest.Tree != nil && !r.Suggest.Tree.Valid() {
		return errors.New("a call tree that is none")
	}
	if r.Lab != nil {
		for _, e := range r.Lab.Experiments {
			for _, a := range e.Arms {
				for _, s := range a.Samples {
					if s == nil {
						return fmt.Errorf("arm %q has a sample that is null", a.Name)
					}
				}
			}
		}
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
	if r.Program != nil {
		for _, a := range r.Program.Arms {
			n += len(a.Samples)
		}
	}
	if r.AB != nil {
		for _, a := range r.AB.Arms {
			n += len(a.Samples)
		}
	}
	if r.Lab != nil {
		for _, e := range r.Lab.Experiments {
			for _, a := range e.Arms {
				n += len(a.Samples)
			}
		}
	}
	return n
}
