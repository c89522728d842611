package result

import (
	"time"

	"github.com/foliomem/folio/cmd/internal/process/host"
)

// The versions of the JSON results. A new version is a new name; keys may be added to
// one. docs/results.md and docs/result.keys.txt describe them.
const (
	Schema         = "folio/1" // run, tune, ab, lab
	InspectSchema  = "folio-inspect/1"
	DoctorSchema   = "folio-doctor/1"
	SuggestSchema  = "folio-suggest/1"
	CollapseSchema = "folio-collapse/1"
	LoadSchema     = "folio-load/1"
	SitesSchema    = "folio-sites/1"
	ChargeSchema   = "folio-charge/1"
)

// Kinds of results. What was watched of a running process is not a run: its time is what
// --duration says, and its other figures are of that time.
const (
	KindRun      = "run"
	KindTune     = "tune"
	KindAttach   = "attach"
	KindAB       = "ab"
	KindLab      = "lab"
	KindProcess  = "process" // folio inspect PID
	KindList     = "list"    // folio inspect
	KindDoctor   = "doctor"
	KindSuggest  = "suggest"
	KindCollapse = "collapse"
	KindLoad     = "load"
	KindSites    = "sites" // folio inspect --heap, --diff, --goroutines
	KindLeaks    = "leaks"
	KindCharge   = "charge" // folio inspect --cgroup
)

// A Header is what every result begins with.
type Header struct {
	Schema  string    `json:"schema" redact:"keep"`
	Kind    string    `json:"kind" redact:"keep"`
	Folio   string    `json:"folio_version" redact:"keep"`
	Created time.Time `json:"created"`
	// Redacted says that the result lacks what [Redacted] leaves out.
	Redacted bool `json:"redacted,omitempty"`
}

// NewHeader returns the header of a result that this folio begins now.
func NewHeader(schema, kind, folio string) Header {
	return Header{Schema: schema, Kind: kind, Folio: folio, Created: time.Now().UTC()}
}

func (h *Header) head() *Header { return h }

// Header returns the header of the result, whichever it is.
func (r *Result) Header() Header {
	if r.Of == nil {
		return Header{}
	}
	return *r.Of.head()
}

// Host returns the machine that the result is from; nil where it does not say.
func (r *Result) Host() *host.Info {
	switch f := r.Of.(type) {
	case *File:
		return &f.Host
	case *Lab:
		return &f.Host
	case *AB:
		return &f.Host
	case *Doctor:
		return &f.Host
	case *Suggest:
		return &f.Host
	case *Load:
		return &f.Host
	}
	return nil
}
