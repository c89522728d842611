package toolchain

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/base/usage"
)

// A Part is a part of folio's cache.
type Part struct {
	Name, What string

	byDefault bool // Clean removes it when it names nothing
}

// Parts are all, those that tune --go and its like fill first.
var Parts = []Part{
	{Toolchains, "releases of Go, of --go", true},
	{Builds, "Go's build cache for builds of folio tune", true},
	{Profiles, "profiles that --pgo auto made", true},
	{"overlay", "patched files of the standard library; not while folio builds", false},
}

// CacheDir returns folio's cache, which may not exist.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache: %w (set XDG_CACHE_HOME)", err)
	}
	return filepath.Join(base, "folio"), nil
}

// In returns how large the part is in a cache, and what is in it.
func (p Part) In(dir string) (size uint64, what string, err error) {
	if p.Name == Toolchains {
		what = strings.Join(toolchains(dir), ", ")
	}
	size, err = scratch.Size(filepath.Join(dir, p.Name))
	return size, cmp.Or(what, p.What), err
}

// toolchains returns the releases in the cache.
func toolchains(dir string) (out []string) {
	found, _ := filepath.Glob(filepath.Join(dir, Toolchains, "golang.org", "toolchain@v0.0.1-*"))
	for _, path := range found {
		_, name, _ := strings.Cut(filepath.Base(path), "v0.0.1-")
		if i := strings.LastIndexByte(name, '.'); i > 0 { // .linux-amd64
			name = name[:i]
		}
		out = append(out, name)
	}
	return out
}

// PartNames returns the names of [Parts].
func PartNames() []string {
	var all []string
	for _, p := range Parts {
		all = append(all, p.Name)
	}
	return all
}

// Clean removes the parts of these names, or without names all that are filled again as they
// are needed. An error says that another folio uses them, or what could not be removed.
func Clean(dir string, names []string) (freed uint64, err error) {
	for _, name := range names {
		all := PartNames()
		if !slices.Contains(all, name) {
			return 0, usage.Errorf("cache clean %s: want %s", name, strings.Join(all, ", "))
		}
	}
	builds, err := scratch.Cache(Builds)
	if err != nil {
		return 0, err
	}
	hold, err := scratch.Hold(builds, true)
	if err != nil {
		return 0, fmt.Errorf("cache clean: %s: %w: wait until it is done", builds, err)
	}
	defer hold.Close()
	for _, p := range Parts {
		if len(names) == 0 && !p.byDefault || len(names) > 0 && !slices.Contains(names, p.Name) {
			continue
		}
		path := filepath.Join(dir, p.Name)
		before, sizeErr := scratch.Size(path)
		clearErr := scratch.Clear(path)
		after, _ := scratch.Size(path)
		freed += before - min(after, before)
		err = errors.Join(err, sizeErr, clearErr)
	}
	if err != nil {
		return freed, fmt.Errorf("cache clean: %w", err)
	}
	return freed, nil
}
