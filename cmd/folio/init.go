package main

import (
	"bufio"
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/result/project"
	"github.com/foliomem/folio/internal/base/unit"
)

type initFlags struct {
	settingFlags
	from, image string
	remove, yes bool
}

const initLong = `Make a setting permanent in the files of a project: a gain stays in the repository.

  package.json   folio-exec before the Go programs that scripts start, such as tsc of
                 TypeScript 7 and esbuild, and @foliomem/folio in devDependencies
  Dockerfile     folio exec in ENTRYPOINT or CMD of the last stage (exec form)
  *.service      a drop-in, NAME.service.d/folio.conf, that starts the service by folio exec
  .folio.env     GOGC and GOMEMLIMIT for CI, in projects with a CI configuration

Without flags, that is the heap on huge pages. What is not known to be a Go program stays
as it is, and a line says why. The changes are shown as a diff; folio asks before it writes,
and --yes does not ask. All other bytes of the files stay. Again, it changes nothing;
--remove takes out what it put in. See docs/howto/permanent.md.`

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
			other, clash := "--from", "thp gogc memlimit"
			if f.remove {
				other, clash = "--remove", clash+" from image"
			}
			for name := range strings.FieldsSeq(clash) {
				if (f.remove || f.from != "") && cmd.Flags().Changed(name) {
					return misusef("init: --%s and %s: give one", name, other)
				}
			}
			if len(args) > 1 {
				return misusef("init: want one directory, not %d", len(args))
			}
			return a.init(f, append(args, ".")[0])
		},
	}
	fs := cmd.Flags()
	f.add(fs)
	fs.StringVar(&f.from, "from", "", "take the setting that this result of folio tune recommends, a JSON `file`")
	fs.StringVar(&f.image, "image", "", "your `image` of folio, for a Dockerfile to copy it from, such as registry.example/folio:0.1.0")
	fs.BoolVar(&f.remove, "remove", false, "take out what folio init put in")
	fs.BoolVarP(&f.yes, "yes", "y", false, "write without asking")
	return cmd
}

func (a *app) init(f *initFlags, dir string) (err error) {
	o := project.Options{Image: f.image, Version: version(), Remove: f.remove}
	if o.Setting, err = f.setting(); err != nil {
		return err
	}
	var notes []string
	if f.from != "" {
		data, err := a.readResult(f.from)
		if err == nil {
			o.Setting, notes, err = project.Recommended(f.from, data)
		}
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
	}
	p, err := project.Look(dir, o)
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	for _, note := range append(notes, p.Notes...) {
		_ = a.line("%s", note)
	}
	_, _ = a.stdout.Write([]byte(p.Diff()))
	switch files := unit.Plural(len(p.Changes), "file"); {
	case len(p.Changes) == 0:
		text, err := p.Nothing()
		return cmp.Or(err, a.line("%s", text))
	case !f.yes && (a.stdin == nil || !isTerminal(a.stdin)):
		return a.line("Nothing is written yet: --yes changes %s.", files)
	case !f.yes:
		_, _ = a.stdout.Write([]byte("Change " + files + "? [y/N] "))
		answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
		if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
			return a.line("Nothing is written.")
		}
	}
	if err := p.Write(); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	return a.line("%s", p.Done())
}
