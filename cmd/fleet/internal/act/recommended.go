package act

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/fleet/internal/recommend"
)

// An advice is what act reads of a recommendation: what folio-fleet recommend --json prints.
type advice struct {
	Workload   ranking.ID           `json:"workload"`
	To         time.Time            `json:"to"`
	Confidence recommend.Confidence `json:"confidence"`
	Advised    recommend.Setting    `json:"advised"`
}

// recommendations are the recommendations in a directory, each in a file NAME.json.
type recommendations struct {
	dir   string
	files map[string]adviceFile
}

// adviceFile is a file as it was when it was read.
type adviceFile struct {
	size    int64
	changed time.Time
	advice  advice
	err     error
}

const (
	mostAdvice      = 1000
	mostAdviceBytes = 256 << 10
)

// read brings them up to date. What cannot be read is an error of its file, and no advice.
func (r *recommendations) read() (errs []error) {
	if r.dir == "" {
		return nil
	}
	names, err := filepath.Glob(filepath.Join(r.dir, "*.json"))
	if err != nil {
		return []error{err}
	}
	now := make(map[string]adviceFile)
	for _, name := range names[:min(len(names), mostAdvice)] {
		info, err := os.Stat(name)
		if err != nil {
			continue // it was removed meanwhile
		}
		if old, ok := r.files[name]; ok && old.size == info.Size() && old.changed.Equal(info.ModTime()) {
			now[name] = old
			continue
		}
		f := adviceFile{size: info.Size(), changed: info.ModTime()}
		f.advice, f.err = readAdvice(name, info)
		if f.err != nil {
			errs = append(errs, f.err)
		}
		now[name] = f
	}
	r.files = now
	return errs
}

func readAdvice(name string, info os.FileInfo) (a advice, err error) {
	if !info.Mode().IsRegular() || info.Size() > mostAdviceBytes {
		return a, fmt.Errorf("%s is not a recommendation: want what folio-fleet recommend --json prints", name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return a, fmt.Errorf("cannot read the recommendation: %w", err)
	}
	if err := json.Unmarshal(data, &a); err != nil || a.Workload.Workload == "" || a.To.IsZero() || a.Confidence == "" {
		return a, fmt.Errorf("%s is not a recommendation: want what folio-fleet recommend --json prints", name)
	}
	return a, nil
}

// of returns what is recommended for a workload. why says why there is nothing to go by.
func (r *recommendations) of(id ranking.ID, now time.Time) (s recommend.Setting, why string) {
	var newest *advice
	for _, f := range r.files {
		if a := &f.advice; f.err == nil && a.Workload == id && (newest == nil || a.To.After(newest.To)) {
			newest = a
		}
	}
	switch {
	case newest == nil:
		return s, "there is no recommendation for " + id.String()
	case now.Sub(newest.To) > recommend.Horizon:
		return s, fmt.Sprintf("the recommendation for %s is of %s: it holds for a week", id, newest.To.UTC().Format(time.DateOnly))
	case newest.Confidence == recommend.Low:
		return s, fmt.Sprintf("the recommendation for %s has low confidence", id)
	}
	return newest.Advised, ""
}
