package main

import (
	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/program/toolchain"
	"github.com/foliomem/folio/internal/base/unit"
)

const cacheLong = `List what folio keeps in its cache, with sizes. The cache is $XDG_CACHE_HOME/folio, by
default ~/.cache/folio. It holds toolchains downloaded by 'folio tune --go' and
non-default builds; Go's own caches are not touched.`

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
		Use: "clean [toolchains|builds|profiles|overlay]...",

		ValidArgsFunction: usage.CompleteArgs(toolchain.PartNames),
		Short:             "Remove what folio keeps in its cache",
		Long: `Remove what folio keeps in its cache: all of it but overlay, or what is named. What
is needed again is downloaded or built again. Nothing is removed while another
folio uses it.`,
		Example: `  folio cache clean
  folio cache clean builds`,
		RunE: func(_ *cobra.Command, args []string) error { return a.cacheClean(args) },
	})
	return cmd
}

func (a *app) cache() error {
	dir, err := toolchain.CacheDir()
	if err != nil {
		return err
	}
	var total uint64
	for _, p := range toolchain.Parts {
		size, what, err := p.In(dir)
		if err != nil {
			return err
		}
		total += size
		if err := a.stdout.Line("%-10s  %10s  %s", p.Name, unit.Size(size), what); err != nil {
			return err
		}
	}
	return a.stdout.Line("%-10s  %10s  %s", "all", unit.Size(total), dir)
}

func (a *app) cacheClean(names []string) error {
	dir, err := toolchain.CacheDir()
	if err != nil {
		return err
	}
	freed, err := toolchain.Clean(dir, names)
	if err != nil {
		return err
	}
	return a.stdout.Line("%s removed from %s", unit.Size(freed), dir)
}
