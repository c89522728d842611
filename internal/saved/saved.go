package saved

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/report"
	"github.com/foliomem/folio/internal/trial"
)

// A Result is a result file that was read.
type Result struct {
	Name string // of the file, for the reader
	JSON []byte

	// One of these is set.
	Program *report.File // run, tune
	Lab     *report.LabFile
	Inspect *report.InspectFile
	Doctor  *report.DoctorFile
}

// Read reads a result file: run, tune and lab (folio/1), inspect and doctor.
// The error says what is wrong with it.
func Read(name string, data []byte) (*Result, error) {
	var head struct{ Schema, Kind string }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("%s: not a result of folio: %w", name, jsonError(err))
	}
	r := &Result{Name: name, JSON: data}
	var into any
	switch {
	case head.Schema == report.Schema && head.Kind == "lab":
		r.Lab = &report.LabFile{}
		into = r.Lab
	case head.Schema == report.Schema && (head.Kind == "run" || head.Kind == "tune"):
		r.Program = &report.File{}
		into = r.Program
	case head.Schema == report.InspectSchema:
		r.Inspect = &report.InspectFile{}
		into = r.Inspect
	case head.Schema == report.DoctorSchema:
		r.Doctor = &report.DoctorFile{}
		into = r.Doctor
	case head.Schema == "":
		return nil, fmt.Errorf("%s: not a result of folio: it names no schema", name)
	case strings.HasPrefix(head.Schema, "folio"):
		return nil, fmt.Errorf("%s: schema %s, kind %s: this folio does not know it: use the one that wrote it, or a newer one", name, head.Schema, head.Kind)
	default:
		return nil, fmt.Errorf("%s: not a result of folio: schema %q", name, head.Schema)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, fmt.Errorf("%s: damaged: %w", name, jsonError(err))
	}
	return r, r.check()
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
	return err
}

// check refuses what the pages could not be made of.
func (r *Result) check() error {
	switch {
	case r.Inspect != nil && r.Inspect.Process == nil && r.Inspect.Processes == nil:
		return fmt.Errorf("%s: damaged: neither process nor processes", r.Name)
	}
	if r.Program != nil {
		for _, a := range r.Program.Arms {
			for _, s := range a.Samples {
				if s == nil {
					return fmt.Errorf("%s: damaged: arm %q has a sample that is null", r.Name, a.Name)
				}
				whole(s)
			}
		}
	}
	if r.Lab != nil {
		for _, e := range r.Lab.Experiments {
			for _, a := range e.Arms {
				for _, s := range a.Samples {
					if s == nil {
						return fmt.Errorf("%s: damaged: arm %q has a sample that is null", r.Name, a.Name)
					}
				}
			}
		}
	}
	return nil
}

// whole forgets the collector's figures where some are missing: they are known
// together or not at all, and who reads them relies on that.
func whole(s *trial.Sample) {
	if s.GCCycles == nil || s.GCCPU == nil || s.GCPause == nil || s.GCPauseMax == nil {
		s.GCCycles, s.GCCPU, s.GCFraction, s.GCPause, s.GCPauseMax = nil, nil, nil, nil, nil
	}
}

// Samples counts the samples of a result; 0 for a snapshot.
func (r *Result) Samples() (n int) {
	if r.Program != nil {
		for _, a := range r.Program.Arms {
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
