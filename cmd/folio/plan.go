package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	goversion "go/version"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/base/scratch"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/program/overlay"
	"github.com/foliomem/folio/internal/program/toolchain"
	"github.com/foliomem/folio/internal/program/variant"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/trial/profile"
)

// variantFlags are the ways to build the program that tune tries.
type variantFlags struct {
	releases    []string
	experiments []string
	levels      []string
	profiles    []string
	patches     []string // each a set
}

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
	fs.StringSliceVar(&f.releases, "go", nil, usage("also try these `releases` of Go, such as go1.26.8,go1.27.4,\ndownloaded into folio's own cache (see folio cache)",
		"with this `release` of Go, such as go1.27.4, downloaded into folio's own cache"))
	fs.StringSliceVar(&f.experiments, "goexperiment", nil, usage("also try each of these `experiments`, such as nogreenteagc,jsonv2",
		"with these `experiments`, such as nogreenteagc"))
	fs.StringSliceVar(&f.levels, "goamd64", nil, usage("also try these `levels` of GOAMD64, v1 to v4, that this CPU has", "for this `level` of GOAMD64"))
	fs.StringSliceVar(&f.profiles, "pgo", nil, usage("also try these `profiles`: off, a file, or auto, which is made of\nsamples of the default build", "with the profile in this `file`, or off"))
	fs.StringArrayVar(&f.patches, "patch", nil, usage("also try this set of `patches` of the standard library, such as a,b\n(repeatable; see folio patches)",
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

// check checks what can be checked without a toolchain, and brings the values into one
// form.
func (f *variantFlags) check() error {
	for i, r := range f.releases {
		v, err := toolchain.Parse(strings.TrimSpace(r))
		if err != nil {
			return fmt.Errorf("--go: %w", err)
		}
		f.releases[i] = v
	}
	for i, l := range f.levels {
		if l = strings.TrimSpace(l); !toolchain.IsAMD64Level(l) {
			return fmt.Errorf("--goamd64 %q: want v1, v2, v3 or v4", l)
		}
		f.levels[i] = l
	}
	for i, e := range f.experiments {
		if f.experiments[i] = strings.TrimSpace(e); f.experiments[i] == "" {
			return errors.New("--goexperiment: want names, such as nogreenteagc,jsonv2")
		}
	}
	for i, p := range f.profiles {
		if f.profiles[i] = strings.TrimSpace(p); f.profiles[i] == "" {
			return errors.New("--pgo: want off, auto or the file of a profile")
		}
	}
	for i, set := range f.patches {
		var names []string
		for name := range strings.SplitSeq(set, ",") {
			if name = strings.TrimSpace(name); name != "" && name != overlay.HeapHugePages && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return fmt.Errorf("--patch %q: want names of patches besides %s, which every build has: see 'folio patches'", set, overlay.HeapHugePages)
		}
		if _, err := overlay.Lookup(names...); err != nil {
			return fmt.Errorf("--patch: %w", err)
		}
		f.patches[i] = strings.Join(names, ",")
	}
	return nil
}

// A plan is what is to be built besides the default.
type plan struct {
	src      source
	base     *overlay.Toolchain
	finder   *toolchain.Finder
	steps    []variant.Build
	roots    map[string]string // GOROOT by release; "" where it has to be downloaded
	profiles map[string]string // file by value of --pgo
	hashes   map[string]string // of these files
	mainDir  string            // of the package
	foreign  bool              // the package is of a module, or of a Go, that is not the user's to change
	chooser  *toolchain.Chooser
	cache    string // GOCACHE
	packages int    // that are compiled
	// exhaustive says that all combinations are built.
	exhaustive bool
	notes      []string

	hold       *os.File // the cache is in use
	downloaded time.Duration
}

// plan finds out what the flags mean here, before anything is built: errors say what
// cannot be.
func (a *app) plan(ctx context.Context, f *variantFlags, src source) (_ *plan, err error) {
	p := &plan{src: src, roots: make(map[string]string), profiles: make(map[string]string), hashes: make(map[string]string)}
	if p.base, err = overlay.FindToolchain(ctx, "", "", nil); err != nil {
		return nil, p.failed(ctx, err)
	}
	if p.base.OS != runtime.GOOS || p.base.Arch != runtime.GOARCH {
		return nil, fmt.Errorf("go builds for %s/%s, and the program is to run here, on %s/%s: unset GOOS and GOARCH",
			p.base.OS, p.base.Arch, runtime.GOOS, runtime.GOARCH)
	}
	builds, err := scratch.Cache(toolchain.Builds)
	if err != nil {
		return nil, fmt.Errorf("make folio's cache: %w: set XDG_CACHE_HOME to a directory that can be written", err)
	}
	p.cache = filepath.Join(builds, "go")
	if p.finder, err = toolchain.NewFinder(ctx); err != nil {
		return nil, p.failed(ctx, err)
	}
	for _, do := range []func(context.Context, *variantFlags) error{p.listed, p.withReleases, p.withExperiments, p.withProfiles, p.withPatches} {
		if err := do(ctx, f); err != nil {
			return nil, p.failed(ctx, err)
		}
	}
	return p, nil
}

func (p *plan) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errNothing
	}
	return newerGo(err)
}

// add adds a step, once.
func (p *plan) add(b variant.Build) {
	if !slices.Contains(p.steps, b) {
		p.steps = append(p.steps, b)
	}
}

func (p *plan) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// list asks go list.
func (p *plan) list(ctx context.Context, format string, more ...string) (string, error) {
	// Of the flags of go test, those by which packages are found.
	with := slices.DeleteFunc(slices.Clone(p.src.with), func(flag string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		return !slices.Contains([]string{"tags", "mod", "modfile", "overlay", "race", "msan", "asan"}, name)
	})
	args := slices.Concat([]string{"list", "-f", format}, with, more, strings.Fields(p.src.pkg))
	cmd := exec.CommandContext(ctx, "go", args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(toolchain.FirstLine(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// listed finds the package.
func (p *plan) listed(ctx context.Context, _ *variantFlags) error {
	what := "--build " + p.src.pkg
	if p.src.test {
		what = "go test " + p.src.pkg
	}
	if path, version, ok := strings.Cut(p.src.pkg, "@"); ok {
		return fmt.Errorf("%s: want a package without a version: run 'go get %s@%s' in your module, then give %s", what, path, version, path)
	}
	dir, err := p.list(ctx, "{{.Dir}}", "-find")
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if p.mainDir = dir; strings.Contains(dir, "\n") {
		return fmt.Errorf("%s: it means several packages: want one", what)
	}
	whose, err := p.list(ctx, "{{if .Standard}}foreign{{else if .Module}}{{if not .Module.Main}}foreign{{end}}{{end}}", "-find")
	if err != nil {
		return err
	}
	p.foreign = whose != ""
	var deps []string
	if p.src.test {
		deps = []string{"-test"}
	}
	text, err := p.list(ctx, "{{.ImportPath}}", append(deps, "-deps")...)
	p.packages = strings.Count(text, "\n") + 1
	return err
}

// version is the release that the default is built with.
func (p *plan) version() string {
	v, _, _ := strings.Cut(p.base.Version, " ")
	return v
}

func (p *plan) withReleases(ctx context.Context, f *variantFlags) error {
	wants := ""
	if len(f.releases) > 0 {
		line, err := p.list(ctx, "{{with .Module}}{{.GoVersion}} {{.Path}}{{end}}", "-find")
		if err != nil {
			return err
		}
		wants = line
	}
	lang, module, _ := strings.Cut(wants, " ")
	var err error
	if p.chooser, err = p.finder.Chooser(ctx); err != nil {
		return err
	}
	for _, r := range f.releases {
		switch {
		case r == p.version():
			p.note("%s is what the default is built with", r)
			continue
		case lang != "" && goversion.Compare(r, "go"+lang) < 0:
			return fmt.Errorf("--go %s: the module %s needs go %s or later (go.mod): leave it out, or lower that line", r, module, lang)
		}
		p.roots[r] = p.finder.Have(r)
		p.add(variant.Build{Go: r})
	}
	return nil
}

func (p *plan) withExperiments(ctx context.Context, f *variantFlags) error {
	if len(f.experiments) == 0 && len(f.levels) == 0 {
		return nil
	}
	known, err := toolchain.Experiments(p.base.Root)
	if err != nil {
		return err
	}
	on, level, err := toolchain.Enabled(ctx, p.base.Root, "")
	if err != nil {
		return err
	}
	for _, e := range f.experiments {
		name := e
		if !slices.Contains(known, e) { // there are names that begin with no
			name = variant.Experiment(e)
		}
		if !slices.Contains(known, name) {
			return misusef("--goexperiment %s: %s does not know it; it knows %s, and each with no before it", e, p.version(), strings.Join(known, ", "))
		}
		if slices.Contains(on, name) == (name == e) {
			p.note("GOEXPERIMENT=%s is what the default is built with", e)
			continue
		}
		p.add(variant.Build{Experiments: e})
	}
	if len(f.levels) == 0 {
		return nil
	}
	if p.base.Arch != "amd64" {
		return misusef("--goamd64 %s: this is %s, which has no GOAMD64", strings.Join(f.levels, ","), p.base.Arch)
	}
	flags, err := procmem.New("").CPUFlags()
	if err != nil {
		return fmt.Errorf("--goamd64: %w", err)
	}
	have := toolchain.AMD64Levels(flags)
	for _, l := range f.levels {
		switch {
		case !slices.Contains(have, l):
			return misusef("--goamd64 %s: this CPU has %s: a program that is built for %s would not run here", l, strings.Join(have, ", "), l)
		case l == level:
			p.note("GOAMD64=%s is what the default is built with", l)
		default:
			p.add(variant.Build{AMD64: l})
		}
	}
	return nil
}

func (p *plan) withProfiles(_ context.Context, f *variantFlags) error {
	_, err := os.Stat(filepath.Join(p.mainDir, "default.pgo"))
	byDefault := err == nil && !p.src.test
	for _, value := range f.profiles {
		switch value {
		case variant.PGOOff:
			if !byDefault {
				p.note("pgo=off is what the default is built with: there is no default.pgo")
				continue
			}
		case variant.PGOAuto:
			if err := perf.Check(); err != nil {
				return fmt.Errorf("--pgo auto: %w", err)
			}
		default:
			file, err := filepath.Abs(value)
			if err == nil {
				p.hashes[value], err = profile.CheckPGO(file)
			}
			if err != nil {
				return fmt.Errorf("--pgo %s: %w", value, err)
			}
			p.profiles[value] = file
		}
		p.add(variant.Build{PGO: value})
	}
	return nil
}

func (p *plan) withPatches(_ context.Context, f *variantFlags) error {
	for _, set := range f.patches {
		patches, err := overlay.Lookup(strings.Split(set, ",")...)
		if err != nil {
			return misusef("--patch: %w", err)
		}
		for _, patch := range patches {
			if err := patch.Fits(p.base); err != nil {
				return fmt.Errorf("--patch %s: %w", set, err)
			}
		}
		p.add(variant.Build{Patches: set})
	}
	return nil
}

// recipe says how a build of the plan is built.
func (p *plan) recipe(b variant.Build) recipe {
	root := p.base.Root
	if b.Go != "" {
		root = p.roots[b.Go]
	}
	out := recipe{root: root, stock: b.Patches == "", patches: []string{overlay.HeapHugePages}}
	if b.Patches != "" {
		out.patches = append(out.patches, strings.Split(b.Patches, ",")...)
	}
	out.set = []string{"GOROOT=" + root, "GOTOOLCHAIN=local", "GOCACHE=" + p.cache}
	if b.Experiments != "" {
		all := variant.Build{Experiments: p.base.Experiment}.With(b)
		out.set = append(out.set, "GOEXPERIMENT="+all.Experiments)
	}
	if b.AMD64 != "" {
		out.set = append(out.set, "GOAMD64="+b.AMD64)
	}
	if b.PGO == variant.PGOOff {
		out.flags = []string{"-pgo=off"}
	} else if b.PGO != "" {
		out.flags = []string{"-pgo=" + p.profiles[b.PGO]}
	}
	return out
}

// downloads returns the releases that are not on this machine.
func (p *plan) downloads() (out []string) {
	for _, b := range p.steps {
		if b.Go != "" && p.roots[b.Go] == "" {
			out = append(out, b.Go)
		}
	}
	return out
}

// What builds take, as measured: of a package on average, compiled with optimisation.
const (
	bytesPerPackage   = 700 << 10 // in GOCACHE
	programPerPackage = 100 << 10
	cpuPerPackage     = 0.17 // seconds of a CPU
	toolchainBytes    = 360 << 20
	toolchainSeconds  = 20
)

// estimate says what is to be built, and about what it takes.
func (p *plan) estimate() (text string, bytes uint64) {
	n, downloads := len(p.steps), len(p.downloads())
	all := n
	if p.exhaustive {
		all = len(variant.Combinations(p.steps)) - 1
		n = all
	} else if n > 1 {
		all++ // the winners together
	}
	bytes = uint64(all)*uint64(p.packages)*(bytesPerPackage+programPerPackage) + uint64(downloads)*toolchainBytes
	seconds := float64(all)*float64(p.packages)*cpuPerPackage/float64(runtime.GOMAXPROCS(0)) + float64(downloads)*toolchainSeconds
	text = unit.Plural(n, "build")
	if downloads > 0 {
		text += " and " + unit.Plural(downloads, "download")
	}
	return text + fmt.Sprintf(": about %s and %s in %s, less where it was built before",
		unit.About(time.Duration(seconds*float64(time.Second))), unit.Size(bytes), filepath.Dir(filepath.Dir(p.cache))), bytes
}

// prepare says what the builds take, checks that there is room for them, and downloads the
// toolchains. Until release nobody else cleans the cache.
func (p *plan) prepare(ctx context.Context, a *app) (err error) {
	if len(p.steps) == 0 {
		return nil
	}
	text, bytes := p.estimate()
	cache := filepath.Dir(p.cache)
	if err := p.room(cache, "XDG_CACHE_HOME", bytes); err != nil {
		return err
	}
	// Programs, and what the linker writes meanwhile.
	programs := uint64(len(p.steps)+2) * uint64(p.packages) * programPerPackage
	if err := p.room(cmp.Or(p.base.Temp, os.TempDir()), "GOTMPDIR", programs); err != nil {
		return err
	}
	if p.hold, err = scratch.Hold(cache, false); err != nil {
		return fmt.Errorf("%s: %w: wait until it is done", cache, err)
	}
	_ = a.stderr.Line("folio: %s", text)
	progress := newProgress(a.stderr)
	defer progress.clear()
	began := time.Now()
	downloads := p.downloads()
	for i, r := range downloads {
		progress.line(fmt.Sprintf("downloading %s (%d of %d)", r, i+1, len(downloads)))
		root, err := p.finder.Download(ctx, r)
		if ctx.Err() != nil {
			return errNothing
		} else if err != nil {
			return fmt.Errorf("--go: %w", err)
		}
		p.roots[r] = root
	}
	if len(downloads) > 0 {
		p.downloaded = time.Since(began)
	}
	return nil
}

// release lets others clean the cache.
func (p *plan) release() error {
	if p == nil || p.hold == nil {
		return nil
	}
	return p.hold.Close()
}

// room says whether the disk of a directory has room for what is to be written there.
func (p *plan) room(dir, variable string, bytes uint64) error {
	if free, known := scratch.Free(dir); known && free < bytes {
		return fmt.Errorf("the builds take about %s, and the disk of %s has %s left: remove something ('folio cache clean'), or set %s to another disk",
			unit.Size(bytes), dir, unit.Size(free), variable)
	}
	return nil
}
