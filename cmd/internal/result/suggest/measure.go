package suggest

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

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Measurement takes what advice is made of: an allocation profile, and what a command
// costs.
type Measurement struct {
	Command    []string  // empty: the profile alone
	Profile    string    // the file that the command writes; "" of go test, which is made to
	SampleRate int       // of CPU time, in Hz
	Stderr     io.Writer // gets what the command prints

	Notes []string // for who reads the advice
}

// GoTest says whether a command is go test, whose profile folio takes itself.
func GoTest(command []string) bool {
	return len(command) > 1 && trial.CommandName(command) == "go" && command[1] == "test"
}

// Run runs the command and reads the profile.
func (m *Measurement) Run(ctx context.Context) (p *Profile, c Cost, err error) {
	switch {
	case len(m.Command) == 0:
		c = Unknown()
	case m.Profile == "":
		var dir *scratch.Dir
		if dir, err = scratch.New(os.Getenv("GOTMPDIR")); err != nil {
			return nil, c, fmt.Errorf("suggest: %w", err)
		}
		defer func() { err = errors.Join(err, dir.Remove()) }()
		path := filepath.Join(dir.Path, "allocs.pprof")
		if c, err = m.ofTest(ctx, dir.Path, path); err != nil {
			return nil, c, err
		}
		p, err = readFile(path)
		return p, c, err
	default:
		before, _ := os.Stat(m.Profile)
		s, err := m.measure(ctx, m.Command, m.Stderr) // standard output is the advice's
		if err != nil {
			return nil, c, err
		}
		c = m.costs(s)
		if after, err := os.Stat(m.Profile); err == nil && before != nil && before.ModTime().Equal(after.ModTime()) {
			m.Notes = append(m.Notes, "the command did not write "+m.Profile+": it is of another run")
		}
	}
	p, err = readFile(m.Profile)
	return p, c, err
}

func readFile(path string) (p *Profile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if p, err = Read(file); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return p, err
}

// measure runs a command once. What it prints goes to stdout, and its errors to Stderr,
// unless stdout is nil.
func (m *Measurement) measure(ctx context.Context, command []string, stdout io.Writer, env ...string) (*trial.Sample, error) {
	p := &trial.Program{Command: command, FS: procmem.New("")}
	if stdout != nil {
		p.Stdout, p.Stderr = stdout, m.Stderr
	}
	s, err := p.Run(ctx, trial.Setting{Env: env}, trial.Request{Profile: m.SampleRate})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
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

// costs are those of a sample.
func (m *Measurement) costs(s *trial.Sample) Cost {
	c := Cost{Wall: s.Wall, CPU: s.CPU, GC: math.NaN(), Allocation: math.NaN()}
	if s.Profile.Shares() {
		c.GC = *s.GCSeconds
		c.Allocation = s.Profile.Share(profile.Allocation).Seconds + s.Profile.Share(profile.Zeroing).Seconds
	} else if s.Unsampled != nil {
		m.Notes = append(m.Notes, "what GC and allocation cost was not sampled: "+s.Unsampled.Error())
	}
	return c
}

// ofTest runs go test with a profile, and without tests for what else it
// costs: building and linking.
func (m *Measurement) ofTest(ctx context.Context, dir, path string) (c Cost, err error) {
	if slices.ContainsFunc(m.Command, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return strings.HasPrefix(arg, "-") && (name == "memprofile" || name == "o" || name == "c")
	}) {
		return c, usage.Errorf("suggest: leave -memprofile, -o and -c away: folio sets them")
	}
	with := func(flags ...string) []string { return slices.Concat(m.Command[:2], flags, m.Command[2:]) }
	binary, temp := "-o="+filepath.Join(dir, "test"), "GOTMPDIR="+dir
	nothing := lastFlags(m.Command, "-run=^$", "-bench=^$", binary)
	if _, err := m.measure(ctx, nothing, nil, temp); err != nil { // builds
		if strings.Contains(err.Error(), "-o must refer to a directory") {
			err = errors.New("suggest: one package at a time: go test names several here")
		}
		return c, err
	}
	base, err := m.measure(ctx, nothing, nil, temp)
	if err != nil {
		return c, err
	}
	var said bytes.Buffer
	s, err := m.measure(ctx, with("-memprofile="+path, binary), io.MultiWriter(m.Stderr, &said), temp)
	if err != nil {
		return c, err
	}
	if err := m.nothingRan(ctx, said.String()); err != nil {
		return c, err
	}
	c = m.costs(s)
	b := new(Measurement).costs(base)
	c.Wall = max(c.Wall-b.Wall, 0)
	c.CPU = max(c.CPU-b.CPU, 0)
	if !math.IsNaN(b.GC) {
		c.GC = max(c.GC-b.GC, 0)
	}
	if !math.IsNaN(b.Allocation) {
		c.Allocation = max(c.Allocation-b.Allocation, 0)
	}
	if c.CPU < 1 {
		m.Notes = append(m.Notes, fmt.Sprintf("%s of CPU time says little: take a longer -benchtime or -count", unit.Seconds(c.CPU)))
	}
	if c.CPU == 0 {
		return Unknown(), nil
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
func (m *Measurement) nothingRan(ctx context.Context, said string) error {
	pattern, asked := benchFlag(m.Command)
	switch {
	case strings.Contains(said, "[no test files]"):
		return errors.New("suggest: the package has no tests and no benchmarks")
	case !asked && strings.Contains(said, "no tests to run"):
		return errors.New("suggest: no test ran: name some with -run, or benchmarks with -bench")
	case !asked || benchLine.MatchString(said):
		return nil
	}
	var list bytes.Buffer
	if _, err := m.measure(ctx, lastFlags(m.Command, "-list=^Benchmark", "-bench="), &list); err != nil {
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

// Lines returns a function that reads lines of source files.
func Lines() func(file string, line int64) string {
	return (&sources{make(map[string][]string), input.MaxSources}).line
}

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
