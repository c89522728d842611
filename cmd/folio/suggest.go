package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/suggest"
	"github.com/foliomem/folio/cmd/internal/view/text"
	"github.com/foliomem/folio/internal/system/procmem"
)

const adviseLong = `List the call sites of a program that would gain from an arena: how much they
allocate and how short it lives, what that costs in the GC, what an
arena would save, and what to write instead. Or say that there is nothing to
gain.

It needs an allocation profile. For 'go test' it takes the profile itself
(-memprofile, of one package), and runs the command a second time without tests and
benchmarks, to know what building costs. Other programs write one themselves,

  f, _ := os.Create("allocs.pprof"); pprof.Lookup("allocs").WriteTo(f, 0)

which is read after the command ends (--profile). Without a command, only the
profile is read, and what the GC costs is not known.

Savings are estimated: at least half of the site's share of the GC's CPU time; at most
all of that and nine tenths of its share of allocation time. Its share of the GC's CPU
time is its share of the bytes.`

type suggestFlags struct {
	resultFlags
	profile    string
	sampleRate int
}

func newSuggest(a *app) *cobra.Command {
	f := &suggestFlags{}
	cmd := &cobra.Command{
		Use:   "suggest [flags] [-- command [args]]",
		Short: "List the call sites that would gain from an arena",
		Long:  adviseLong,
		Example: `  folio suggest -- go test -run '^$' -bench . ./parser
  folio suggest --profile allocs.pprof -- ./prog args
  folio suggest --profile allocs.pprof
  folio suggest --json advice.json -- go test -run '^$' -bench . ./parser`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.suggest(cmd.Context(), f, args) },
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.StringVar(&f.profile, "profile", "", "read the allocation profile from `file`, which the command, if any, writes")
	fs.IntVar(&f.sampleRate, "sample-rate", 499, "CPU samples per CPU-second, in `Hz` (0 = off)")
	f.add(fs, "the advice, and what was measured,")
	return cmd
}

func (a *app) suggest(ctx context.Context, f *suggestFlags, command []string) (err error) {
	switch {
	case len(command) == 0 && f.profile == "":
		return misusef("suggest: no command and no profile given: folio suggest -- go test -bench . , or --profile FILE")
	case len(command) > 0 && f.profile == "" && !suggest.GoTest(command):
		return misusef("suggest: %s: its allocation profile is needed: have it write one with pprof.Lookup(\"allocs\").WriteTo, and give its name with --profile", command[0])
	case f.sampleRate < 0 || f.sampleRate > maxSampleRate:
		return misusef("--sample-rate %d: must be from 0 to %d", f.sampleRate, maxSampleRate)
	}
	files, err := a.openOutputs(f.files()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	ctx, stop := interruptible(ctx)
	defer stop()
	m := &suggest.Measurement{Command: command, Profile: f.profile, SampleRate: f.sampleRate, Stderr: a.stderr.Raw()}
	p, cost, err := m.Run(ctx)
	if err != nil {
		return orNothing(ctx, err)
	}
	file := result.NewSuggest(version(), suggest.Suggest(p, cost, suggest.Lines()), m.Notes)
	f.complete(file, command)
	return finish(a, files, file, f.resultFlags, a.stderr, text.Options{})
}

// complete says where the advice is from.
func (f *suggestFlags) complete(file *result.Suggest, command []string) {
	info, notes := host.Read(procmem.New(""))
	file.Host = info
	file.Command = append(file.Command, command...)
	if f.profile != "" {
		file.Profile = &f.profile
	}
	file.Notes = append(file.Notes, notes...)
}
