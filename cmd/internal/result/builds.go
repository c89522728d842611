package result

import (
	"os"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/cmd/internal/program/variant"
)

// Builds puts into results what identifies each build of a search.
type Builds struct {
	*build.Set
	about map[variant.Build]*ArmBuild
}

// NewBuilds is of a set of builds.
func NewBuilds(set *build.Set) *Builds { return &Builds{set, make(map[variant.Build]*ArmBuild)} }

// Record completes a result; nil changes nothing.
func (v *Builds) Record(f *File) {
	if v == nil {
		return
	}
	for i := range f.Arms {
		a := &f.Arms[i]
		a.Build = v.identity(a.Setting.Trial().Build)
	}
	if file, _ := v.Profile(variant.PGOAuto); file != "" && f.Program.Build != nil {
		f.Program.Build.Profile = file
	}
	if all := v.All(); all != nil {
		f.BuildSeconds = new(all.Seconds())
	}
}

// identity returns what identifies a build; nil where it failed. It is read from the program
// once: between runs nothing should take time.
func (v *Builds) identity(b variant.Build) *ArmBuild {
	program := v.Program(b)
	switch {
	case program == nil:
		return nil
	case v.about[b] != nil:
		return v.about[b]
	}
	out := &ArmBuild{Patches: program.Patches(), AMD64: b.AMD64, Experiments: v.Experiments(b)}
	if !b.IsZero() {
		out.Seconds = new(v.Took(b).Seconds())
	}
	out.GoVersion, _, _ = host.Program(program.File)
	_, out.BuildID = host.Build(program.File)
	if _, hash := v.Profile(b.PGO); hash != "" {
		out.PGO = &hash
	}
	if info, err := os.Stat(program.File); err == nil {
		out.Bytes = uint64(info.Size())
	}
	v.about[b] = out
	return out
}
