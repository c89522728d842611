package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/base/scratch"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/process/host"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/result/suggest"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/trial/profile"
	"github.com/foliomem/folio/internal/view/report"
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
	profile    string
	sampleRate int
	json, html string
	redact     bool
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
	fs.SortFlags = false
	fs.StringVar(&f.profile, "profile", "", "read the allocation profile from `file`, which the command, if any, writes")
	fs.IntVar(&f.sampleRate, "sample-rate", 499, "CPU samples per CPU-second, in `Hz` (0 = off)")
	fs.StringVar(&f.json, "json", "", "write the advice, and what was measured, to `file` as JSON (- for standard output)")
	fs.StringVar(&f.html, "html", "", "write the same to `file` as an HTML page (- for standard output)")
	redactFlag(fs, &f.redact)
	return cmd
}

func (a *app) suggest(ctx context.Context, f *suggestFlags, command []string) (err error) {
	goTest := len(command) > 1 && trial.CommandName(command) == "go" && command[1] == "test"
	switch {
	case len(command) == 0 && f.profile == "":
		return misusef("suggest: no command and no profile given: folio suggest -- go test -bench . , or --profile FILE")
	case len(command) > 0 && f.profile == "" && !goTest:
		return misusef("suggest: %s: its allocation profile is needed: have it write one with pprof.Lookup(\"allocs\").WriteTo, and give its name with --profile", command[0])
	case f.sampleRate < 0 || f.sampleRate > maxSampleRate:
		return misusef("--sample-rate %d: must be from 0 to %d", f.sampleRate, maxSampleRate)
	}
	files, err := a.openOutputs(asJSON(f.json), asPage(f.html, f.json))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.close()) }()
	var notes []string
	cost, path := suggest.Unknown(), f.profile
	if len(command) > 0 {
		ctx, stop := interruptible(ctx)
		defer stop()
		if goTest && f.profile == "" {
			dir, err := scratch.New(os.Getenv("GOTMPDIR"))
			if err != nil {
				return fmt.Errorf("suggest: %w", err)
			}
			defer func() { err = errors.Join(err, dir.Remove()) }()
			path = filepath.Join(dir.Path, "allocs.pprof")
			cost, err = a.costOfTest(ctx, f, command, dir.Path, path, &notes)
			if err != nil {
				return err
			}
		} else {
			before, _ := os.Stat(f.profile)
			if cost, err = a.costOf(ctx, f, command, &notes); err != nil {
				return err
			}
			if after, err := os.Stat(f.profile); err == nil && before != nil && before.ModTime().Equal(after.ModTime()) {
				notes = append(notes, "the command did not write "+f.profile+": it is of another run")
			}
		}
	}
	p, err := readProfile(path)
	if err != nil {
		return err
	}
	file := result.NewSuggest(version(), suggest.Suggest(p, cost, newSources().line), notes)
	f.complete(file, command)
	if file, err = shown(file, f.redact); err != nil {
		return err
	}
	written := files.write(false, file.JSON)
	out := io.Writer(a.stdout)
	if files.toStdout() {
		out = a.stderr
	}
	return errors.Join(report.Suggest(out, file), written)
}

// complete says where the advice is from.
func (f *suggestFlags) complete(file *result.Suggest, command []string) {
	info, warnings := host.Read(procmem.New(""))
	file.Host = info
	file.Command = append(file.Command, command...)
	if f.profile != "" {
		file.Profile = &f.profile
	}
	for _, w := range warnings {
		file.Notes = append(file.Notes, w.Error())
	}
}

func readProfile(path string) (p *suggest.Profile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if p, err = suggest.Read(file); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return p, err
}

// measure runs a command once. What it prints goes to stdout, and its errors to
// standard error, unless stdout is nil.
func (a *app) measure(ctx context.Context, f *suggestFlags, command []string, stdout io.Writer, env ...string) (*trial.Sample, error) {
	p := &trial.Program{Command: command, FS: procmem.New("")}
	if stdout != nil {
		p.Stdout, p.Stderr = stdout, a.stderr.Raw()
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	s, err := p.Run(ctx, trial.Setting{Env: env}, trial.Request{Profile: f.sampleRate})
	switch {
	case ctx.Err() != nil:
		return nil, errNothing
	case err != nil:
		return nil, err
	case !s.OK():
		why := s.Failure
		if l := s.Reason(); l != "" {
			why += ": " + l
		}
		return nil, fmt.Errorf("%s: %s", command[0], why)
	}
	return s, nil
}

// costOf runs a command for what it costs.
func (a *app) costOf(ctx context.Context, f *suggestFlags, command []string, notes *[]string) (suggest.Cost, error) {
	s, err := a.measure(ctx, f, command, a.stderr.Raw()) // standard output is the advice's
	if err != nil {
		return suggest.Unknown(), err
	}
	return costs(s, notes), nil
}

// costs are those of a sample.
func costs(s *trial.Sample, notes *[]string) suggest.Cost {
	c := suggest.Cost{Wall: s.Wall, CPU: s.CPU, GC: math.NaN(), Allocation: math.NaN()}
	if s.Profile.Shares() {
		c.GC = *s.GCSeconds
		c.Allocation = s.Profile.Share(profile.Allocation).Seconds + s.Profile.Share(profile.Zeroing).Seconds
	} else if s.Unsampled != nil {
		*notes = append(*notes, "what GC and allocation cost was not sampled: "+s.Unsampled.Error())
	}
	return c
}

// costOfTest runs go test with a profile, and without tests for what else it
// costs: building and linking.
func (a *app) costOfTest(ctx context.Context, f *suggestFlags, command []string, dir, path string, notes *[]string) (suggest.Cost, error) {
	if slices.ContainsFunc(command, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return strings.HasPrefix(arg, "-") && (name == "memprofile" || name == "o" || name == "c")
	}) {
		return suggest.Unknown(), misusef("suggest: leave -memprofile, -o and -c away: folio sets them")
	}
	with := func(flags ...string) []string { return slices.Concat(command[:2], flags, command[2:]) }
	binary, temp := "-o="+filepath.Join(dir, "test"), "GOTMPDIR="+dir
	nothing := lastFlags(command, "-run=^$", "-bench=^$", binary)
	if _, err := a.measure(ctx, f, nothing, nil, temp); err != nil { // builds
		if strings.Contains(err.Error(), "-o must refer to a directory") {
			err = errors.New("suggest: one package at a time: go test names several here")
		}
		return suggest.Unknown(), err
	}
	base, err := a.measure(ctx, f, nothing, nil, temp)
	if err != nil {
		return suggest.Unknown(), err
	}
	var said bytes.Buffer
	s, err := a.measure(ctx, f, with("-memprofile="+path, binary), io.MultiWriter(a.stderr.Raw(), &said), temp)
	if err != nil {
		return suggest.Unknown(), err
	}
	if err := a.nothingRan(ctx, f, command, said.String()); err != nil {
		return suggest.Unknown(), err
	}
	c, b := costs(s, notes), costs(base, new([]string))
	c.Wall = max(c.Wall-b.Wall, 0)
	c.CPU = max(c.CPU-b.CPU, 0)
	if !math.IsNaN(b.GC) {
		c.GC = max(c.GC-b.GC, 0)
	}
	if !math.IsNaN(b.Allocation) {
		c.Allocation = max(c.Allocation-b.Allocation, 0)
	}
	if c.CPU < 1 {
		*notes = append(*notes, fmt.Sprintf("%s of CPU time says little: take a longer -benchtime or -count", unit.Seconds(c.CPU)))
	}
	if c.CPU == 0 {
		return suggest.Unknown(), nil
	}
	// What is left of two short runs may be more GC than time.
	if c.GC > c.CPU {
		c.GC = math.NaN()
	}
	if c.Allocation > c.CPU {
		c.Allocation = math.NaN()
	}
	return c, nil
}

// lastFlags adds flags to go test. They count where they come last, but those behind
// -args are the program's.
func lastFlags(command []string, flags ...string) []string {
	out := slices.Clone(command)
	at := slices.Index(out, "-args")
	if at < 0 {
		at = len(out)
	}
	return slices.Insert(out, at, flags...)
}

// benchLine is the result of a benchmark, also in the output of -json.
var benchLine = regexp.MustCompile(`(?m)(^|")Benchmark\S*?(\s|\\t)+\d+(\s|\\t)`)

// nothingRan is the error of go test that ran nothing, so that its profile is of the
// testing package alone. said is what it printed.
func (a *app) nothingRan(ctx context.Context, f *suggestFlags, command []string, said string) error {
	pattern, asked := benchFlag(command)
	switch {
	case strings.Contains(said, "[no test files]"):
		return errors.New("suggest: the package has no tests and no benchmarks")
	case !asked && strings.Contains(said, "no tests to run"):
		return errors.New("suggest: no test ran: name some with -run, or benchmarks with -bench")
	case !asked || benchLine.MatchString(said):
		return nil
	}
	var list bytes.Buffer
	if _, err := a.measure(ctx, f, lastFlags(command, "-list=^Benchmark", "-bench="), &list); err != nil {
		return err
	}
	var names []string
	for _, l := range strings.Split(list.String(), "\n") {
		if strings.HasPrefix(l, "Benchmark") {
			names = append(names, strings.TrimSpace(l))
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("suggest: no benchmark matches -bench %s: the package has none", trial.Quote(pattern))
	}
	return fmt.Errorf("suggest: no benchmark matches -bench %s: there are %s", trial.Quote(pattern), strings.Join(names, ", "))
}

// benchFlag returns the pattern of go test's -bench.
func benchFlag(command []string) (pattern string, ok bool) {
	for i, arg := range command {
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case arg == "-args":
			return pattern, ok
		case !strings.HasPrefix(arg, "-") || strings.TrimPrefix(name, "test.") != "bench":
		case given:
			pattern, ok = value, true
		case i+1 < len(command):
			pattern, ok = command[i+1], true
		}
	}
	return pattern, ok
}

// sources reads lines of source files, each file once.
type sources struct {
	files map[string][]string
	room  int // bytes that may be kept of more files
}

func newSources() *sources { return &sources{make(map[string][]string), input.MaxSources} }

func (s *sources) line(file string, n int64) string {
	lines, ok := s.files[file]
	if !ok {
		// The names are the profile's, which may be somebody else's.
		if data, err := input.ReadFile(file, input.MaxSource); err == nil && len(data) <= s.room {
			s.room -= len(data)
			lines = strings.Split(string(data), "\n")
		}
		s.files[file] = lines
	}
	if n < 1 || n > int64(len(lines)) {
		return ""
	}
	return lines[n-1]
}
