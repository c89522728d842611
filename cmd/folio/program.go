package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/cmd/internal/program/gosetting"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
	"github.com/foliomem/folio/cmd/internal/view/output"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

// programFlags are what run and tune both take: how to run the program and
// where results go.
type programFlags struct {
	build        string
	env          []string
	thp          string
	metric       string
	higher       bool
	input        string
	timeout      time.Duration
	noGC         bool
	sampleRate   int
	ignoreExit   bool
	pid          int // of a process that runs already; 0 for a command
	ready        string
	readyTimeout time.Duration
	load         serverLoad
	stopTimeout  time.Duration
	limits       limitFlags
	resultFlags
	bench  string
	pprof  string        // of run
	test   *build.Source // of tune: the test that folio builds; nil for none
	recipe *build.Recipe // how to build; nil: as go build does

	// compares says that settings are compared: none may be another than it is named by.
	compares bool

	given *pflag.FlagSet
}

func (f *programFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.build, "build", "", "build and run this `package`, or .go files; arguments follow --")
	f.addRest(fs)
}

// addRest adds all flags but --build.
func (f *programFlags) addRest(fs *pflag.FlagSet) {
	f.given = fs
	fs.StringArrayVar(&f.env, "env", nil, "set `KEY=VALUE` for the program (repeatable)")
	fs.StringVar(&f.thp, "thp", "system", "huge page `mode`: system, heap (folio exec), off, or collapse (as folio collapse,\nneeds CAP_SYS_NICE)")
	fs.StringVar(&f.input, "input", "", "read standard input of every run from `file`")
	fs.DurationVar(&f.timeout, "timeout", 0, "end runs that take longer than this `duration` (default none)")
	fs.BoolVar(&f.ignoreExit, "ignore-exit", false, "count runs whatever the program's exit code")
	f.limits.add(fs)
	usage.Group(fs, "The program")
	use, by := "also report", ""
	if f.compares {
		use, by = "compare by", " (default wall; --rate: p99)"
	}
	fs.StringVar(&f.metric, "metric", "", use+" `name`: wall, cpu, ns/op, p50, p99, p999, cpu/request,\nor NAME=REGEXP, its (group) a number"+by)
	fs.BoolVar(&f.higher, "higher-is-better", false, "larger values of the metric are better")
	fs.IntVar(&f.sampleRate, "sample-rate", 499, "CPU samples per CPU-second, in `Hz` (0 = off)")
	fs.BoolVar(&f.noGC, "no-gc", false, "do not read GC figures, nor follow what the program starts")
	usage.Group(fs, "What is measured")
	usage.Advanced(fs, "timeout", "ignore-exit", "no-gc")
	fs.StringVar(&f.ready, "ready", "", "a server, ready once this `address` answers: http://... or tcp:HOST:PORT")
	fs.DurationVar(&f.readyTimeout, "ready-timeout", time.Minute, "fail a run whose server is not ready within this `duration`")
	f.load.add(fs)
	fs.DurationVar(&f.stopTimeout, "stop-timeout", 10*time.Second, "KILL a server that has not ended within this `duration` of TERM")
	usage.Group(fs, "A server under load")
	usage.Advanced(fs, append(prefixed(requestNames), "target", "ready-timeout", "stop-timeout")...)
	f.resultFlags.add(fs, "all samples and summaries")
	fs.StringVar(&f.bench, "bench", "", "write all samples to `file` in the Go benchmark format, for benchstat")
	usage.Group(fs, "Output")
}

// defaultTHP says what --thp is by default where that is more than one word.
func (f *programFlags) defaultTHP(text string) {
	flag := f.given.Lookup("thp")
	flag.DefValue, flag.Usage = "", flag.Usage+" (default "+text+")"
}

// maxSampleRate is what the kernel allows by default (perf_event_max_sample_rate).
const maxSampleRate = 100000

// A measurement is a command line of run, tune or ab put to work.
type measurement struct {
	program *trial.Program // what runs; of ab what all of its programs have
	request trial.Request  // what its trials ask for
	base    trial.Setting
	limits  cgroup.Limits
	host    host.Info
	notes   stat.Notes
	out     output.List
	resultFlags

	stdin *uint64  // how much every run reads; nil for not known
	spool *os.File // a copy of standard input; nil for none
}

// A session is the measurement of one program, by run or tune.
type session struct {
	measurement
	file    result.File
	built   *build.Program // nil without --build
	profile []byte         // of --pprof
}

// begin checks everything that can be checked before anything is built, and opens the files.
// byLatency makes the tail of the latency what is optimized, where nothing else was named.
func (m *measurement) begin(a *app, f *programFlags, byLatency bool, bench output.File, more ...output.File) (err error) {
	if err := m.parse(f); err != nil {
		return misuse(err)
	}
	if m.base.THP == trial.THPCollapse {
		if err := trial.MayCollapse(); err != nil {
			return err // now, not after the warm-up
		}
	}
	if byLatency && m.generator() != nil && m.program.Metric == nil {
		m.program.Metric = &metric.Spec{Name: metric.P99}
	}
	m.out, err = a.openOutputs(slices.Concat(f.files(), []output.File{bench}, more)...)
	if err := errors.Join(checkInput(f.input), err); err != nil {
		return err
	}
	m.request = trial.Request{Profile: f.sampleRate, Keep: m.keeps(), Timeout: f.timeout}
	var notes []string
	m.host, notes = host.Read(m.program.FS)
	for _, text := range notes {
		m.notes.Add(text)
	}
	sweep()
	m.program.Cgroups, err = cgroup.Open(procmem.New(""), m.limits)
	return err
}

// open checks everything that can be checked before measuring, and builds what is to
// be built.
func (a *app) open(ctx context.Context, f *programFlags, kind string, args []string) (_ *session, err error) {
	switch {
	case len(args) == 0 && !f.given.Changed("build"):
		return nil, misusef("%s: no command given: folio %s [flags] -- command args", kind, kind)
	case len(args) > 0 && args[0] == "" && !f.given.Changed("build"):
		return nil, misusef("%s: the command is empty: folio %s [flags] -- command args", kind, kind)
	}
	s := &session{}
	if err := s.begin(a, f, kind == result.KindTune, s.bench(f), asPprof(f)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.built.Remove(), s.program.Cgroups.Close())
		}
	}()
	switch {
	case f.test != nil:
		err = s.build(ctx, a, *f.test, nil, kind, nil)
	case f.build != "":
		err = s.build(ctx, a, build.Source{Package: f.build}, f.recipe, kind, args)
	default:
		s.about(kind, args, args[0])
		s.file.Program.Patches = build.PatchesIn(args[0])
	}
	if err != nil {
		return nil, err
	}
	if err := s.program.Check(); err != nil {
		return nil, err
	}
	if s.base.THP == trial.THPHeap {
		if err := s.program.MayHeap(); errors.Is(err, trial.ErrOwnHeap) {
			s.notes.Add(err.Error())
		} else if err != nil {
			return nil, err // now, not after the warm-up
		}
	}
	s.record(&s.file.Program, f)
	return s, nil
}

func (s *session) bench(f *programFlags) output.File {
	return asBench(f.bench, &s.file, f.redact, gobench.Run)
}

func asPprof(f *programFlags) output.File { return output.File{Flag: "--pprof", Path: f.pprof} }

// generator is the load by folio; nil for none.
func (m *measurement) generator() *load.Options {
	if m.program.Server == nil {
		return nil
	}
	return m.program.Server.Generator
}

// record puts the conditions of the runs into what the result says of the program.
func (m *measurement) record(p *result.Program, f *programFlags) {
	p.Input, p.Stdin, p.IgnoreExit, p.Limits = f.input, m.stdin, f.ignoreExit, m.limits.OrNil()
	p.Ready, p.Load = f.ready, f.load.command
	if g := m.generator(); g != nil {
		p.Requests = new(g.Settings())
	}
	given := func(flag string, timeout time.Duration) float64 {
		if !f.given.Changed(flag) {
			return 0
		}
		return timeout.Seconds()
	}
	t := result.Timeouts{Run: given("timeout", f.timeout), Ready: given("ready-timeout", f.readyTimeout), Stop: given("stop-timeout", f.stopTimeout)}
	if t != (result.Timeouts{}) {
		p.Timeouts = &t
	}
}

// keeps says what the result files need of the samples of CPU time.
func (m *measurement) keeps() trial.Keep {
	return trial.Keep{Samples: m.out.Has("--pprof"), Stacks: m.out.Has("--json", "--html")}
}

// sweep removes what a folio left that was killed.
func sweep() {
	cgroup.Sweep(procmem.New(""))
	scratch.Sweep("")
	if dir := os.Getenv("GOTMPDIR"); dir != "" {
		scratch.Sweep(dir)
	}
}

// getsHuge says why --thp heap would change nothing for the program.
func (s *session) getsHuge() error {
	return trial.WhyNotHuge(s.program.FS, s.base.Environ(os.Environ()))
}

// about begins the result: where it is measured, and what. exe is the program's
// file.
func (s *session) about(kind string, command []string, exe string) {
	p, isGo := result.NewProgram(command, exe)
	p.Environment = trial.Baseline()
	s.noteSettings(s.base, &p)
	s.file = result.File{Header: result.NewHeader(result.Schema, kind, version()), Host: s.host, Program: p}
	s.program.Command, s.program.IsGo, s.program.Heap = command, isGo, trial.ReadHeap(exe)
}

// parse checks the flags' values.
func (s *measurement) parse(f *programFlags) (err error) {
	s.program = &trial.Program{FS: procmem.New(""), Input: f.input, ReadGC: !f.noGC, IgnoreExit: f.ignoreExit}
	if s.base.THP, err = trial.ParseTHP(f.thp); err != nil {
		return err
	}
	if err := f.checkBuild(s.base.THP); err != nil {
		return err
	}
	if err := gosetting.CheckFlag("--env", f.env); err != nil {
		return err
	}
	s.base.Env, s.resultFlags = f.env, f.resultFlags
	for _, p := range gosetting.CheckAll(s.base.Environ(os.Environ()), "") {
		switch {
		case p.Unknown:
			s.notes.Add(p.Error())
		case f.compares: // every run would be of another setting than it is named by, or fail
			return fmt.Errorf("the environment has %w", p)
		default:
			s.notes.Add("the environment has " + p.Error())
		}
	}
	if f.redact && f.pprof != "" {
		return errors.New("--redact and --pprof: a pprof profile names directories, and is not redacted: give one")
	}
	if s.limits, err = f.limits.parse(f.given); err != nil {
		return err
	}
	switch {
	case f.pid != 0:
		return nil // the rest is of runs
	case f.metric != "":
		if s.program.Metric, err = metric.Parse(f.metric, f.higher); err != nil {
			return err
		}
	case f.higher:
		return errors.New("--higher-is-better goes with --metric 'NAME=REGEXP'")
	}
	var ready *trial.Ready
	if f.ready != "" {
		if ready, err = trial.ParseReady(f.ready); err != nil {
			return err
		}
		ready.TLS = f.load.tls()
	}
	generator, err := f.load.check(f.ready, false)
	if err != nil {
		return err
	}
	if spec := s.program.Metric; spec != nil && spec.OfLoad() && generator == nil {
		return fmt.Errorf("--metric %s needs --rate: %s", f.metric, spec.Missing())
	}
	switch {
	case f.sampleRate == 0 && f.pprof != "":
		return errors.New("--pprof needs CPU samples: leave out --sample-rate 0")
	case f.sampleRate < 0 || f.sampleRate > maxSampleRate:
		return fmt.Errorf("--sample-rate %d: must be from 0 to %d", f.sampleRate, maxSampleRate)
	case f.timeout < 0:
		return fmt.Errorf("--timeout %v: must not be negative", f.timeout)
	case f.readyTimeout <= 0:
		return fmt.Errorf("--ready-timeout %v: must be more than 0", f.readyTimeout)
	case f.stopTimeout <= 0:
		return fmt.Errorf("--stop-timeout %v: must be more than 0", f.stopTimeout)
	case f.ready == "" && f.given.Changed("ready-timeout"):
		return errors.New("--ready-timeout goes with --ready")
	case f.ready == "" && f.given.Changed("stop-timeout"):
		return errors.New("--stop-timeout goes with --ready")
	case f.ready == "":
		return nil
	}
	s.program.Server = &trial.Server{Ready: ready, ReadyTimeout: f.readyTimeout, Load: f.load.command, Generator: generator, StopTimeout: f.stopTimeout}
	return nil
}

// checkInput refuses what no run could read.
func checkInput(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("--input %s: is a directory", path)
	}
	return trial.CheckInput(path)
}

// noteSettings names the settings of GODEBUG that a program's version of Go does not have.
func (m *measurement) noteSettings(set trial.Setting, p *result.Program) {
	if p.GoVersion == nil {
		return
	}
	for _, problem := range gosetting.CheckAll(set.Environ(os.Environ()), *p.GoVersion) {
		if problem.Unknown {
			m.notes.Add(problem.Error())
		}
	}
}

// envOf returns what --env sets a variable to, as KEY=VALUE; "" for nothing.
func (f *programFlags) envOf(variable string) string {
	i := slices.IndexFunc(f.env, func(kv string) bool { return strings.HasPrefix(kv, variable+"=") })
	if i < 0 {
		return ""
	}
	return f.env[i]
}

// keepProfile keeps what --pprof writes of the samples: those of the last run
// that has any. The others are let go.
func (s *session) keepProfile(samples []*trial.Sample) error {
	for _, sample := range samples {
		if sample.Collected == nil {
			continue
		}
		profile, err := sample.TakePprof()
		if err != nil {
			return fmt.Errorf("--pprof: %w", err)
		}
		if sample.Profile != nil {
			s.profile = profile
		}
	}
	return nil
}

// noProfile says why --pprof has nothing to write.
func (s *session) noProfile() error {
	if !s.out.Has("--pprof") || s.profile != nil {
		return nil
	}
	return errors.New("--pprof: no samples: the program ended too early, or could not be sampled (see the notes)")
}

// write brings the result files up to date. Before anything was measured they
// say so, unless they hold an older result: that is worth more than an empty one.
func (s *session) write() error {
	return s.out.Write(!s.measured(), jsonOf(&s.file, s.redact))
}

// end writes the last version, with the reason of a failure, and closes and removes what was
// made for the runs.
func (s *session) end(err error) error {
	if s.file.Error = reason(err); errors.Is(err, tune.ErrNoGo) {
		s.file.Error = "" // it is the answer
	}
	err = s.write()
	if s.profile != nil {
		err = errors.Join(err, s.out.Put("--pprof", s.profile))
	}
	return errors.Join(err, s.close(), s.built.Remove())
}

func (m *measurement) close() error {
	err := errors.Join(m.out.Close(), m.program.Cgroups.Close())
	if m.spool != nil {
		err = errors.Join(err, m.spool.Close())
	}
	return err
}
