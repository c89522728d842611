package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/process/host"
	"github.com/foliomem/folio/internal/program/build"
	"github.com/foliomem/folio/internal/program/variant"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/trial/tune"
)

// variants are the builds of a search. They run trials: of each setting the program that
// was built for it.
type variants struct {
	*build.Set
	a       *app
	session *session // whose program is the default's
	about   map[variant.Build]*result.ArmBuild
}

// newVariants returns the builds of a plan. The default is built already.
func (a *app) newVariants(p *build.Plan, s *session) *variants {
	s.notes = append(s.notes, p.Notes...)
	return &variants{Set: build.NewSet(p, a.builder(), s.built), a: a, session: s, about: make(map[variant.Build]*result.ArmBuild)}
}

// variantFlags are the ways to build the program that tune tries.
type variantFlags struct{ build.Wanted }

// variantNames are the flags.
var variantNames = []string{"go", "goexperiment", "goamd64", "pgo", "patch"}

// add adds the flags: of several builds, or of the one of folio run.
func (f *variantFlags) add(fs *pflag.FlagSet, several bool) {
	usage := func(some, one string) string {
		if several {
			return "with --build or go test: " + some
		}
		return "with --build: " + one
	}
	fs.StringSliceVar(&f.Releases, "go", nil, usage("also try these `releases` of Go, such as go1.26.8,go1.27.4,\ndownloaded into folio's own cache (see folio cache)",
		"with this `release` of Go, such as go1.27.4, downloaded into folio's own cache"))
	fs.StringSliceVar(&f.Experiments, "goexperiment", nil, usage("also try each of these `experiments`, such as nogreenteagc,jsonv2",
		"with these `experiments`, such as nogreenteagc"))
	fs.StringSliceVar(&f.Levels, "goamd64", nil, usage("also try these `levels` of GOAMD64, v1 to v4, that this CPU has", "for this `level` of GOAMD64"))
	fs.StringSliceVar(&f.Profiles, "pgo", nil, usage("also try these `profiles`: off, a file, or auto, which is made of\nsamples of the default build", "with the profile in this `file`, or off"))
	fs.StringArrayVar(&f.Patches, "patch", nil, usage("also try this set of `patches` of the standard library, such as a,b\n(repeatable; see folio patches)",
		"with these `patches` of the standard library, such as a,b"))
}

// given returns the first of the flags that is given, "" for none.
func (f *variantFlags) given(fs *pflag.FlagSet) string {
	for _, name := range variantNames {
		if fs.Changed(name) {
			return "--" + name
		}
	}
	return ""
}

// Run runs the program that was built for a setting.
func (v *variants) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	if set.Build.IsZero() {
		return v.session.program.Run(ctx, set, req)
	}
	b := v.Program(set.Build)
	return v.session.program.Of(append([]string{b.File}, v.session.program.Command[1:]...), b.Patched()).Run(ctx, set, req)
}

// options are what the search needs of the builds.
func (v *variants) options() tune.Builds {
	profile, _ := v.Profile(variant.PGOAuto)
	out := tune.Builds{Steps: v.Steps, Make: v.Make, Places: tune.Places{Package: quoted(v.Source.Package), Profile: profile,
		Test: v.Source.Test, Experiments: v.Base.Experiment}}
	if v.Chooser != nil {
		out.Places.Toolchain = v.Chooser.Line
	}
	if !v.Source.Test && !v.Foreign {
		out.Places.Main = v.Dir
		if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, v.Dir); err == nil && filepath.IsLocal(rel) {
				out.Places.Main = rel
			}
		}
	}
	return out
}

// quoted quotes each word of what --build takes.
func quoted(pkg string) string {
	words := strings.Fields(pkg)
	for i, w := range words {
		words[i] = trial.Quote(w)
	}
	return strings.Join(words, " ")
}

// record puts into the result what identifies each build.
func (v *variants) record(f *result.File) {
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
func (v *variants) identity(b variant.Build) *result.ArmBuild {
	program := v.Program(b)
	switch {
	case program == nil:
		return nil
	case v.about[b] != nil:
		return v.about[b]
	}
	out := &result.ArmBuild{Patches: program.Patches(), AMD64: b.AMD64, Experiments: v.Experiments(b)}
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
