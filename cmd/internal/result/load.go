package result

import (
	"errors"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// A Load is what folio load found.
type Load struct {
	Header
	Host host.Info `json:"host"` // that the load came from

	load.Result
	Notes []string `json:"notes" redact:"prose"`
}

// NewLoad makes the result. Where it was measured is for the caller to fill in.
func NewLoad(folio string, r *load.Result) *Load {
	return &Load{Header: NewHeader(LoadSchema, KindLoad, folio), Result: *r, Notes: []string{}}
}

// JSON returns the file's text.
func (f *Load) JSON() ([]byte, error) { return indented(f) }

// MergeLoads puts the loads among results together. It returns nil unless results are
// several runs of one load; the error says why none of those counts.
func MergeLoads(results []*Result) (*LoadMerged, error) {
	var runs []*load.Result
	for _, r := range results {
		l, ok := r.Of.(*Load)
		if !ok || l.Redacted { // which servers those were of is not known
			return nil, nil
		}
		runs = append(runs, &l.Result)
	}
	if len(runs) < 2 {
		return nil, nil
	}
	m, err := load.Merge(runs...)
	if errors.Is(err, load.ErrDifferent) {
		return nil, nil
	}
	return m, err
}
