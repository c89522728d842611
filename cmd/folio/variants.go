package main

import (
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/build"
)

// variantFlags are the ways to build the program that tune tries.
type variantFlags struct{ build.Wanted }

// variantNames are the flags.
var variantNames = []string{"go", "goexperiment", "goamd64", "pgo", "patch"}

// add adds the flags: of several builds, or of the one of folio run.
func (f *variantFlags) add(fs *pflag.FlagSet, several bool) {
	text := func(some, one string) string {
		if several {
			return "with --build or go test: " + some
		}
		return "with --build: " + one
	}
	fs.StringSliceVar(&f.Releases, "go", nil, text("also try these `releases` of Go, such as go1.26.8,go1.27.4,\ndownloaded into folio's own cache (see folio cache)",
		"with this `release` of Go, such as go1.27.4, downloaded into folio's own cache"))
	fs.StringSliceVar(&f.Experiments, "goexperiment", nil, text("also try each of these `experiments`, such as nogreenteagc,jsonv2",
		"with these `experiments`, such as nogreenteagc"))
	fs.StringSliceVar(&f.Levels, "goamd64", nil, text("also try these `levels` of GOAMD64, v1 to v4, that this CPU has", "for this `level` of GOAMD64"))
	fs.StringSliceVar(&f.Profiles, "pgo", nil, text("also try these `profiles`: off, a file, or auto, which is made of\nsamples of the default build", "with the profile in this `file`, or off"))
	fs.StringArrayVar(&f.Patches, "patch", nil, text("also try this set of `patches` of the standard library, such as a,b\n(repeatable; see folio patches)",
		"with these `patches` of the standard library, such as a,b"))
	usage.Advanced(fs, variantNames...)
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
