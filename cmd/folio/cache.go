package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/internal/base/scratch"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/base/usage"
	"github.com/foliomem/folio/internal/program/toolchain"
)

// A cached is a part of folio's cache.
type cached struct {
	name, what string
	// byDefault says that clean removes it when it names nothing.
	byDefault bool
}

// caches are the parts, those that tune --go and its like fill first.
var caches = []cached{
	{toolchain.Toolchains, "releases of Go, of --go", true},
	{toolchain.Builds, "Go's build cache for builds of folio tune", true},
	{toolchain.Profiles, "profiles that --pgo auto made", true},
	{"overlay", "patched files of the standard library; not while folio builds", false},
}

const cacheLong = `List what folio keeps in its cache, and how much it is. The cache is in
$XDG_CACHE_HOME/folio, by default ~/.cache/folio. Go's own caches have nothing of
it: toolchains that 'folio tune --go' downloads, and what is compiled for other
builds than the default, are here.`

func newCache(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "List what folio keeps in its cache",
		Long:  cacheLong,
		Example: `  folio cache
  folio cache clean
  folio cache clean toolchains`,
		Args: usage.OnlyCommands,
		RunE: func(*cobra.Command, []string) error { return a.cache() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "clean [toolchains|builds|profiles|overlay]...",
		Short: "Remove what folio keeps in its cache",
		Long: `Remove what folio keeps in its cache: all of it but overlay, or what is named. What
is needed again is downloaded or built again. Nothing is removed while another
folio uses it.`,
		Example: `  folio cache clean
  folio cache clean builds`,
		RunE: func(_ *cobra.Command, args []string) error { return a.cacheClean(args) },
	})
	return cmd
}

// cacheDir returns folio's cache, which may not exist.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache: %w (set XDG_CACHE_HOME)", err)
	}
	return filepath.Join(base, "folio"), nil
}

func (a *app) cache() error {
	dir, err := cacheDir()
	if err != nil {
		return err
	}
	var total uint64
	for _, c := range caches {
		size, err := scratch.Size(filepath.Join(dir, c.name))
		if err != nil {
			return err
		}
		total += size
		what := c.what
		if c.name == toolchain.Toolchains {
			if names := toolchains(dir); len(names) > 0 {
				what = strings.Join(names, ", ")
			}
		}
		if err := a.stdout.Line("%-10s  %10s  %s", c.name, unit.Size(size), what); err != nil {
			return err
		}
	}
	return a.stdout.Line("%-10s  %10s  %s", "all", unit.Size(total), dir)
}

// toolchains returns the releases in the cache.
func toolchains(dir string) (out []string) {
	found, _ := filepath.Glob(filepath.Join(dir, toolchain.Toolchains, "golang.org", "toolchain@v0.0.1-*"))
	for _, path := range found {
		_, name, _ := strings.Cut(filepath.Base(path), "v0.0.1-")
		if i := strings.LastIndexByte(name, '.'); i > 0 { // .linux-amd64
			name = name[:i]
		}
		out = append(out, name)
	}
	return out
}

func (a *app) cacheClean(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(caches, func(c cached) bool { return c.name == name }) {
			return misusef("cache clean %s: want %s", name, strings.Join(cacheNames(), ", "))
		}
	}
	dir, err := cacheDir()
	if err != nil {
		return err
	}
	builds, err := scratch.Cache(toolchain.Builds)
	if err != nil {
		return err
	}
	hold, err := scratch.Hold(builds, true)
	if err != nil {
		return fmt.Errorf("cache clean: %s: %w: wait until it is done", builds, err)
	}
	defer hold.Close()
	var freed uint64
	for _, c := range caches {
		if len(names) == 0 && !c.byDefault || len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		path := filepath.Join(dir, c.name)
		before, sizeErr := scratch.Size(path)
		clearErr := scratch.Clear(path)
		after, _ := scratch.Size(path)
		freed += before - min(after, before)
		err = errors.Join(err, sizeErr, clearErr)
	}
	if err != nil {
		return fmt.Errorf("cache clean: %w", err)
	}
	return a.stdout.Line("%s removed from %s", unit.Size(freed), dir)
}

func cacheNames() (out []string) {
	for _, c := range caches {
		out = append(out, c.name)
	}
	return out
}
