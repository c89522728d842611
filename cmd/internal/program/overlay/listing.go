package overlay

import (
	"errors"
	"fmt"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/executable"
)

const listingSchema = "folio-patches/1"

// A Listed is a patch in a listing.
type Listed struct {
	Name     string   `json:"name"`
	Hash     string   `json:"hash"`
	Summary  string   `json:"summary,omitempty"`
	Why      string   `json:"why,omitempty"`
	Upstream string   `json:"upstream,omitempty"`
	Remove   string   `json:"remove,omitempty"`
	Evidence string   `json:"evidence,omitempty"`
	Switch   string   `json:"switch,omitempty"`
	Go       []string `json:"go,omitempty"`
	Default  bool     `json:"default,omitempty"`
	Fits     *bool    `json:"fits,omitempty"`
	Note     string   `json:"note,omitempty"`
}

// A Listing is patches, and whether they fit a toolchain or are in a program: the document of
// folio patches --json.
type Listing struct {
	Schema  string   `json:"schema"` // folio-patches/1
	Go      string   `json:"go,omitempty"`
	Target  string   `json:"target,omitempty"`
	Patches []Listed `json:"patches"`
	// Copy tells that folio patch made the program.
	Copy *bool `json:"copy,omitempty"`

	// Edits are what folio patch changed in the program.
	Edits []codepatch.Edit `json:"-"`
	// Arch is the program's, where folio patch made it.
	Arch string `json:"-"`
}

// List says which of the patches fit a toolchain.
func List(patches []*Patch, t *Toolchain) (*Listing, error) {
	out := &Listing{Schema: listingSchema, Go: t.Version, Target: t.OS + "/" + t.Arch}
	for _, p := range patches {
		fits, note, err := fitting(p, t)
		if err != nil {
			return nil, err
		}
		out.Patches = append(out.Patches, Listed{p.Name, p.Hash, p.Summary, p.Why, p.Upstream, p.Remove, p.Evidence,
			p.Switch, p.Go, p.Default, &fits, note})
	}
	return out, nil
}

// ListFile says what was patched in a program, by folio build or by folio patch.
func ListFile(file string) (*Listing, error) {
	r, err := ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := &Listing{Schema: listingSchema, Patches: []Listed{}}
	patch, err := codepatch.Open(file)
	copied := err == nil && patch.Applied // what is refused is not a copy
	if r == nil && !copied {              // then it must be a program that could have been patched
		if _, err := executable.ReadBuild(file); err != nil {
			return nil, fmt.Errorf("%s: not a Go program: %w", file, err)
		}
	}
	out.Copy = &copied
	if copied {
		out.Go, out.Arch, out.Edits = patch.GoVersion, patch.Arch, patch.Edits
	}
	if r != nil {
		out.Go = r.Go
		for _, p := range r.Patches {
			out.Patches = append(out.Patches, Listed{Name: p.Name, Hash: p.Hash})
		}
	}
	return out, nil
}

// fitting says whether a patch can be applied, and why not. The experiment that it
// needs is no matter of the toolchain.
func fitting(p *Patch, t *Toolchain) (fits bool, note string, err error) {
	with := *t
	with.Experiment = p.Experiment
	err = p.Fits(&with)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused) && refused.File == "":
		return false, "not for " + refused.Version + ": " + refused.Why, nil
	case errors.As(err, &refused):
		return false, err.Error(), nil
	case err != nil:
		return false, "", err
	}
	if idle := p.Idle(t); idle != "" {
		return true, "idle: " + idle, nil
	}
	return true, "", nil
}
