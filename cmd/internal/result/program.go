package result

import (
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Program is what was measured.
type Program struct {
	Command   []string `json:"command" redact:"command"`
	GoVersion *string  `json:"go_version" redact:"keep"` // from its build information; null for others
	Module    *string  `json:"module" redact:"file"`
	// Version is the main module's, or the commit; BuildID the linker's. Both tell one
	// build of a program from another.
	Version string `json:"version,omitempty" redact:"keep"`
	BuildID string `json:"build_id,omitempty" redact:"keep"`
	// Environment is what the environment of folio sets of Go's runtime, as GOGC=50: all settings
	// that do not say otherwise have it.
	Environment []string `json:"go_environment,omitempty" redact:"env"`
	Attached    int      `json:"attached_pid,omitempty"`         // of a process that ran already: samples are of a window of its life
	Input       string   `json:"input,omitempty" redact:"blank"` // the file that was its standard input
	// Stdin is how many bytes of standard input every run read, where they came from
	// a pipe or a file.
	Stdin *uint64 `json:"stdin_bytes,omitempty"`
	Ready string  `json:"ready,omitempty" redact:"blank"`
	Load  string  `json:"load,omitempty" redact:"blank"`
	// Requests is the load that folio put on it; nil for none.
	Requests *load.Settings `json:"requests,omitempty"`
	// Limits are those of the cgroup that every run had; nil for none.
	Limits *Limits `json:"limits,omitempty"`
	// IgnoreExit says that runs count whatever the exit code.
	IgnoreExit bool `json:"ignore_exit,omitempty"`
	// Timeouts are those that were not the default; nil for none.
	Timeouts *Timeouts `json:"timeouts,omitempty"`
	// Patches are those of Go's runtime that folio had built the program with before, as
	// name@hash: see Build for a program that it built for this result.
	Patches []string `json:"patches,omitempty" redact:"keep"`
	Build   *Build   `json:"build,omitempty"` // of a program that folio built itself
	// Tree says that programs that it started had their heap on huge pages under thp=heap, or that
	// folio exec --tree was given.
	Tree bool `json:"tree,omitempty"`
}

// A Build says what folio built a program from. The first word of Command is then the
// name that go build gives it.
type Build struct {
	Package string   `json:"package" redact:"built"`           // or .go files
	Patches []string `json:"patches" redact:"keep"`            // of the standard library, as name@hash
	Test    bool     `json:"test,omitempty"`                   // it is the test of the package
	Profile string   `json:"profile,omitempty" redact:"blank"` // file of the profile that folio made for pgo=auto
}

// NewProgram says of a command what its program in the file exe says of itself.
func NewProgram(command []string, exe string) (p Program, isGo bool) {
	p.Command = command
	p.Version, p.BuildID = host.Build(exe)
	goVersion, module, isGo := host.Program(exe)
	if isGo {
		p.GoVersion = &goVersion
	}
	if module != "" {
		p.Module = &module
	}
	return p, isGo
}

// An ArmBuild is all that identifies the build of an arm, where builds were searched.
type ArmBuild struct {
	GoVersion   string   `json:"go_version" redact:"keep"`             // as the program says, with its experiments
	Experiments string   `json:"goexperiment,omitempty" redact:"keep"` // GOEXPERIMENT of the build, where the search set it
	AMD64       string   `json:"goamd64,omitempty" redact:"keep"`      // likewise
	PGO         *string  `json:"pgo_sha256" redact:"keep"`             // of the profile; null where the search gave none
	Patches     []string `json:"patches" redact:"keep"`                // as name@hash
	BuildID     string   `json:"build_id,omitempty" redact:"keep"`
	Bytes       uint64   `json:"program_bytes"`
	Seconds     *float64 `json:"build_seconds"` // null for the default, which is built before the others
}

// Line returns a shell line that runs the program under a setting.
func (p Program) Line(s trial.Setting) string {
	if p.Build != nil && len(p.Command) > 0 {
		if s.Build.PGO == variant.PGOAuto && p.Build.Profile != "" {
			s.Build.PGO = p.Build.Profile
		}
		if p.Build.Test {
			return s.TestLine(p.Command)
		}
		return s.BuildLine(p.Build.Package, p.Command[1:])
	}
	if p.Attached != 0 && (s.GOGC != "" || s.MemLimit != 0) {
		return s.SetLine(p.Attached)
	}
	if p.Tree {
		return s.TreeLine(p.Command)
	}
	return s.Line(p.Command)
}

// Timeouts end what takes longer than so many seconds; 0 is the default of each.
type Timeouts struct {
	Run   float64 `json:"run_seconds,omitempty"`
	Ready float64 `json:"ready_seconds,omitempty"` // from the start of a server
	Stop  float64 `json:"stop_seconds,omitempty"`  // from TERM
}

// flags are the flags of folio that set them.
func (t Timeouts) flags() (out []string) {
	add := func(flag string, seconds float64) {
		if seconds > 0 {
			out = append(out, flag, unit.SpanSeconds(seconds))
		}
	}
	add("--timeout", t.Run)
	add("--ready-timeout", t.Ready)
	add("--stop-timeout", t.Stop)
	return out
}

// Conditions returns the flags of folio that put a program under the same load, in the
// same limits and with the same timeouts.
func (p Program) Conditions() (out []string) {
	if p.Ready != "" {
		out = append(out, "--ready", p.Ready)
	}
	if p.Load != "" {
		out = append(out, "--load", p.Load)
	}
	if p.Requests != nil {
		out = append(out, p.Requests.Flags()...)
	}
	if p.Limits != nil {
		out = append(out, p.Limits.Flags()...)
	}
	if p.Timeouts != nil {
		out = append(out, p.Timeouts.flags()...)
	}
	return out
}
