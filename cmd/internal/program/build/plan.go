// Package build builds programs in the ways that a search tries: what is planned, what is built,
// and, when folio ends, what is gone. Of a git repository it builds revisions.
package build

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

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/program/toolchain"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Wanted are the ways to build a program besides the default.
type Wanted struct {
	Releases    []string
	Experiments []string
	Levels      []string // of GOAMD64
	Profiles    []string // off, auto, or a file
	Patches     []string // each a set, with commas
}

// Check checks what can be checked without a toolchain, and brings the values into one
// form.
func (w *Wanted) Check() error {
	for i, r := range w.Releases {
		v, err := toolchain.Parse(strings.TrimSpace(r))
		if err != nil {
			return fmt.Errorf("--go: %w", err)
		}
		w.Releases[i] = v
	}
	for i, l := range w.Levels {
		if l = strings.TrimSpace(l); !toolchain.IsAMD64Level(l) {
			return fmt.Errorf("--goamd64 %q: want v1, v2, v3 or v4", l)
		}
		w.Levels[i] = l
	}
	for i, e := range w.Experiments {
		if w.Experiments[i] = strings.TrimSpace(e); w.Experiments[i] == "" {
			return errors.New("--goexperiment: want names, such as nogreenteagc,jsonv2")
		}
	}
	for i, p := range w.Profiles {
		if w.Profiles[i] = strings.TrimSpace(p); w.Profiles[i] == "" {
			return errors.New("--pgo: want off, auto or the file of a profile")
		}
	}
	for i, set := range w.Patches {
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
		w.Patches[i] = strings.Join(names, ",")
	}
	return nil
}

// A Plan is what is to be built besides the default.
type Plan struct {
	Source Source
	Base   *overlay.Toolchain
	Steps  []variant.Build
	// Dir is that of the package, and Foreign says that it is of a module, or of a Go, that
	// is not the user's to change.
	Dir     string
	Foreign bool
	Chooser *toolchain.Chooser // nil where it is not known
	// Exhaustive says that all combinations are built.
	Exhaustive bool
	Notes      []string

	finder   *toolchain.Finder
	roots    map[string]string // GOROOT by release; "" where it has to be downloaded
	profiles map[string]string // file by value of --pgo
	hashes   map[string]string // of these files
	cache    string            // GOCACHE
	packages int               // that are compiled

	hold       *os.File // the cache is in use
	downloaded time.Duration
}

// NewPlan finds out how to build what is wanted here, before anything is built: errors say
// what cannot be.
func NewPlan(ctx context.Context, w *Wanted, src Source) (_ *Plan, err error) {
	p := &Plan{Source: src, roots: make(map[string]string), profiles: make(map[string]string), hashes: make(map[string]string)}
	if p.Base, err = overlay.FindToolchain(ctx, "", "", nil); err != nil {
		return nil, p.failed(ctx, err)
	}
	if p.Base.OS != runtime.GOOS || p.Base.Arch != runtime.GOARCH {
		return nil, fmt.Errorf("go builds for %s/%s, and the program is to run here, on %s/%s: unset GOOS and GOARCH",
			p.Base.OS, p.Base.Arch, runtime.GOOS, runtime.GOARCH)
	}
	builds, err := scratch.Cache(toolchain.Builds)
	if err != nil {
		return nil, fmt.Errorf("make folio's cache: %w: set XDG_CACHE_HOME to a directory that can be written", err)
	}
	p.cache = filepath.Join(builds, "go")
	if p.finder, err = toolchain.NewFinder(ctx); err != nil {
		return nil, p.failed(ctx, err)
	}
	for _, do := range []func(context.Context, *Wanted) error{p.listed, p.withReleases, p.withExperiments, p.withProfiles, p.withPatches} {
		if err := do(ctx, w); err != nil {
			return nil, p.failed(ctx, err)
		}
	}
	return p, nil
}

func (p *Plan) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return newerGo(err)
}

// add adds a step, once.
func (p *Plan) add(b variant.Build) {
	if !slices.Contains(p.Steps, b) {
		p.Steps = append(p.Steps, b)
	}
}

func (p *Plan) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// list asks go list.
func (p *Plan) list(ctx context.Context, format string, more ...string) (string, error) {
	// Of the flags of go test, those by which packages are found.
	with := slices.DeleteFunc(slices.Clone(p.Source.With), func(flag string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		return !slices.Contains([]string{"tags", "mod", "modfile", "overlay", "race", "msan", "asan"}, name)
	})
	args := slices.Concat([]string{"list", "-f", format}, with, more, strings.Fields(p.Source.Package))
	cmd := exec.CommandContext(ctx, "go", args...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = errors.New(toolchain.FirstLine(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// listed finds the package.
func (p *Plan) listed(ctx context.Context, _ *Wanted) error {
	what := "--build " + p.Source.Package
	if p.Source.Test {
		what = "go test " + p.Source.Package
	}
	if path, version, ok := strings.Cut(p.Source.Package, "@"); ok {
		return fmt.Errorf("%s: want a package without a version: run 'go get %s@%s' in your module, then give %s", what, path, version, path)
	}
	dir, err := p.list(ctx, "{{.Dir}}", "-find")
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if p.Dir = dir; strings.Contains(dir, "\n") {
		return fmt.Errorf("%s: it means several packages: want one", what)
	}
	whose, err := p.list(ctx, "{{if .Standard}}foreign{{else if .Module}}{{if not .Module.Main}}foreign{{end}}{{end}}", "-find")
	if err != nil {
		return err
	}
	p.Foreign = whose != ""
	var deps []string
	if p.Source.Test {
		deps = []string{"-test"}
	}
	text, err := p.list(ctx, "{{.ImportPath}}", append(deps, "-deps")...)
	p.packages = strings.Count(text, "\n") + 1
	return err
}

// version is the release that the default is built with.
func (p *Plan) version() string {
	v, _, _ := strings.Cut(p.Base.Version, " ")
	return v
}

func (p *Plan) withReleases(ctx context.Context, f *Wanted) error {
	wants := ""
	if len(f.Releases) > 0 {
		line, err := p.list(ctx, "{{with .Module}}{{.GoVersion}} {{.Path}}{{end}}", "-find")
		if err != nil {
			return err
		}
		wants = line
	}
	lang, module, _ := strings.Cut(wants, " ")
	var err error
	if p.Chooser, err = p.finder.Chooser(ctx); err != nil {
		return err
	}
	for _, r := range f.Releases {
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

func (p *Plan) withExperiments(ctx context.Context, f *Wanted) error {
	if len(f.Experiments) == 0 && len(f.Levels) == 0 {
		return nil
	}
	known, err := toolchain.Experiments(p.Base.Root)
	if err != nil {
		return err
	}
	on, level, err := toolchain.Enabled(ctx, p.Base.Root, "")
	if err != nil {
		return err
	}
	for _, e := range f.Experiments {
		name := e
		if !slices.Contains(known, e) { // there are names that begin with no
			name = variant.Experiment(e)
		}
		if !slices.Contains(known, name) {
			return usage.Errorf("--goexperiment %s: %s does not know it; it knows %s, and each with no before it", e, p.version(), strings.Join(known, ", "))
		}
		if slices.Contains(on, name) == (name == e) {
			p.note("GOEXPERIMENT=%s is what the default is built with", e)
			continue
		}
		p.add(variant.Build{Experiments: e})
	}
	if len(f.Levels) == 0 {
		return nil
	}
	if p.Base.Arch != "amd64" {
		return usage.Errorf("--goamd64 %s: this is %s, which has no GOAMD64", strings.Join(f.Levels, ","), p.Base.Arch)
	}
	flags, err := procmem.New("").CPUFlags()
	if err != nil {
		return fmt.Errorf("--goamd64: %w", err)
	}
	have := toolchain.AMD64Levels(flags)
	for _, l := range f.Levels {
		switch {
		case !slices.Contains(have, l):
			return usage.Errorf("--goamd64 %s: this CPU has %s: a program that is built for %s would not run here", l, strings.Join(have, ", "), l)
		case l == level:
			p.note("GOAMD64=%s is what the default is built with", l)
		default:
			p.add(variant.Build{AMD64: l})
		}
	}
	return nil
}

func (p *Plan) withProfiles(_ context.Context, f *Wanted) error {
	_, err := os.Stat(filepath.Join(p.Dir, "default.pgo"))
	byDefault := err == nil && !p.Source.Test
	for _, value := range f.Profiles {
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
				p.hashes[value], err = CheckPGO(file)
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

func (p *Plan) withPatches(_ context.Context, f *Wanted) error {
	for _, set := range f.Patches {
		patches, err := overlay.Lookup(strings.Split(set, ",")...)
		if err != nil {
			return usage.Errorf("--patch: %w", err)
		}
		for _, patch := range patches {
			if err := patch.Fits(p.Base); err != nil {
				return fmt.Errorf("--patch %s: %w", set, err)
			}
		}
		p.add(variant.Build{Patches: set})
	}
	return nil
}

// Recipe says how a build of the plan is built.
func (p *Plan) Recipe(b variant.Build) Recipe {
	root := p.Base.Root
	if b.Go != "" {
		root = p.roots[b.Go]
	}
	out := Recipe{root: root, stock: b.Patches == "", patches: []string{overlay.HeapHugePages}}
	if b.Patches != "" {
		out.patches = append(out.patches, strings.Split(b.Patches, ",")...)
	}
	out.set = []string{"GOROOT=" + root, "GOTOOLCHAIN=local", "GOCACHE=" + p.cache}
	if b.Experiments != "" {
		all := variant.Build{Experiments: p.Base.Experiment}.With(b)
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

// Experiments is GOEXPERIMENT of a build, "" where it is not set.
func (p *Plan) Experiments(b variant.Build) string {
	for _, kv := range p.Recipe(b).set {
		if value, ok := strings.CutPrefix(kv, "GOEXPERIMENT="); ok {
			return value
		}
	}
	return ""
}

// Profile returns the file and the SHA-256 of a profile; "" for none.
func (p *Plan) Profile(value string) (file, hash string) { return p.profiles[value], p.hashes[value] }

// downloads returns the releases that are not on this machine.
func (p *Plan) downloads() (out []string) {
	for _, b := range p.Steps {
		if b.Go != "" && p.roots[b.Go] == "" {
			out = append(out, b.Go)
		}
	}
	return out
}

// What builds take, as measured: of a package on average, compiled with optimization.
const (
	bytesPerPackage   = 700 << 10 // in GOCACHE
	programPerPackage = 100 << 10
	cpuPerPackage     = 0.17 // seconds of a CPU
	toolchainBytes    = 360 << 20
	toolchainSeconds  = 20
)

// estimate says what is to be built, and about what it takes.
func (p *Plan) estimate() (text string, bytes uint64) {
	n, downloads := len(p.Steps), len(p.downloads())
	all := n
	if p.Exhaustive {
		all = len(variant.Combinations(p.Steps)) - 1
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

// Prepare says what the builds take, checks that there is room for them, and downloads the
// toolchains. Until Release nobody else cleans the cache.
func (p *Plan) Prepare(ctx context.Context, b *Builder) (err error) {
	if len(p.Steps) == 0 {
		return nil
	}
	text, bytes := p.estimate()
	cache := filepath.Dir(p.cache)
	if err := p.room(cache, "XDG_CACHE_HOME", bytes); err != nil {
		return err
	}
	// Programs, and what the linker writes meanwhile.
	programs := uint64(len(p.Steps)+2) * uint64(p.packages) * programPerPackage
	if err := p.room(cmp.Or(p.Base.Temp, os.TempDir()), "GOTMPDIR", programs); err != nil {
		return err
	}
	if p.hold, err = scratch.Hold(cache, false); err != nil {
		return fmt.Errorf("%s: %w: wait until it is done", cache, err)
	}
	_ = b.Stderr.Line("folio: %s", text)
	defer b.Progress("")
	began := time.Now()
	downloads := p.downloads()
	for i, r := range downloads {
		b.Progress(fmt.Sprintf("downloading %s (%d of %d)", r, i+1, len(downloads)))
		root, err := p.finder.Download(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
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

// Release lets others clean the cache.
func (p *Plan) Release() error {
	if p == nil || p.hold == nil {
		return nil
	}
	return p.hold.Close()
}

// room says whether the disk of a directory has room for what is to be written there.
func (p *Plan) room(dir, variable string, bytes uint64) error {
	if free, known := scratch.Free(dir); known && free < bytes {
		return fmt.Errorf("the builds take about %s, and the disk of %s has %s left: remove something ('folio cache clean'), or set %s to another disk",
			unit.Size(bytes), dir, unit.Size(free), variable)
	}
	return nil
}
