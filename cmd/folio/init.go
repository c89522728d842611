package main

import (
	"bufio"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/cmd/internal/result/project"
)

type initFlags struct {
	settingFlags
	from, image string
	remove, yes bool
}

const initLong = `Make a setting permanent in the files of a project.

  package.json   folio-exec before the Go programs that scripts start, such as
                 tsc of TypeScript 7, and @foliomem/folio in devDependencies
  Dockerfile     ENTRYPOINT or CMD of the last stage (exec form)
  *.service      ExecStart, in a drop-in NAME.service.d/folio.conf
  .folio.env     GOGC and GOMEMLIMIT for CI, in projects with a CI configuration

Without flags, that is the heap on huge pages. What is not known to be a Go program stays
as it is, and a line says why. A diff is shown before folio asks to write it; without a
terminal, it writes with --yes only. All other bytes stay, and --remove takes out what it
put in. See https://github.com/foliomem/folio/blob/main/docs/howto/permanent.md

Exit codes: 0 done, shown, or nothing left to do; 1 failed, nothing changed, or no place for
the setting found; 2 wrong usage.`

func newInit(a *app) *cobra.Command {
	f := &initFlags{}
	cmd := &cobra.Command{
		Use:   "init [flags] [directory]",
		Short: "Make a setting permanent in a project's files",
		Long:  initLong,
		Example: `  folio init
  folio init --gogc 400 --memlimit 2GiB services/api
  folio init --from tune.json --image registry.example/folio:0.1.0
  folio init --remove --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			changed := cmd.Flags().Changed
			setting := changed("thp") || changed("gogc") || changed("memlimit")
			switch {
			case len(args) > 1:
				return misusef("init: want one directory, not %d", len(args))
			case f.remove && (setting || f.from != "" || f.image != ""):
				return misusef("init: --remove takes out any setting: give no other flag but --yes")
			case f.from != "" && setting:
				return misusef("init: --from %s has the setting: give no --thp, --gogc and --memlimit", f.from)
			}
			return a.init(f, append(args, ".")[0])
		},
	}
	fs := cmd.Flags()
	f.add(fs, "not set")
	fs.StringVar(&f.from, "from", "", "take the setting that this result of folio tune recommends, a JSON `file`")
	fs.StringVar(&f.image, "image", "", "your `image` of folio, for a Dockerfile to copy it from, such as registry.example/folio:0.1.0")
	fs.BoolVar(&f.remove, "remove", false, "take out what folio init put in")
	fs.BoolVarP(&f.yes, "yes", "y", false, "write without asking")
	return cmd
}

func (a *app) init(f *initFlags, dir string) (err error) {
	o := project.Options{Image: f.image, Version: version(), From: f.from, Remove: f.remove}
	if o.Setting, err = f.setting(); err != nil {
		return err
	}
	if f.from != "" {
		if o.Result, err = a.readResult(f.from); err != nil {
			return err
		}
	}
	p, err := project.Look(dir, o)
	if errors.Is(err, project.ErrDefault) {
		return a.stdout.Line("%v", err)
	}
	if err != nil {
		return err
	}
	return p.Apply(a.stdout, func(question string) (yes, asked bool) {
		if f.yes || a.stdin == nil || !terminal.Is(a.stdin) {
			return f.yes, f.yes
		}
		_, _ = a.stdout.Write([]byte(question + " [y/N] "))
		answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "y" || answer == "yes", true
	})
}
