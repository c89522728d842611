package tune

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// Places are where a build is kept for good: files, and what chooses the toolchain.
type Places struct {
	Main        string // the directory of package main, "" where it is of another module: no default.pgo can be put there
	Package     string // the package, as go build takes it
	Profile     string // the file of [variant.PGOAuto]
	Test        bool   // the program is a test, which go test builds: a line says all, but for a build
	Experiments string // GOEXPERIMENT of the default build
	// Toolchain returns the command that chooses a release by a line of go.mod or go.work; ""
	// where only GOTOOLCHAIN can, and why. Nil is for a module that any release can build.
	Toolchain func(release string) (command, why string)
}

// keep says how to have the setting of an arm for good: a heading, and below it the
// ways to choose from, or all that is to be done. It is nil for the default, and where the
// line of the setting says all.
func (r *Result) keep(a *Arm) []string {
	if r.PID != 0 && a != r.Arms[0] {
		return []string{"to keep it after a restart: " + a.Setting.String() + " in the environment of the program"}
	}
	if a.Setting.Build != r.Arms[0].Setting.Build {
		return r.keepBuild(a)
	}
	if a == r.Arms[0] || r.places.Test || r.Package == "" && a.Setting.THP != trial.THPHeap {
		return nil
	}
	env := ""
	plain := a.Setting
	plain.THP = trial.THPSystem
	if !plain.IsZero() {
		env = plain.String() + " in the environment of the program"
	}
	if r.Package == "" {
		if env != "" {
			env = ", with " + env
		}
		if trial.HeapsBelow(a.Samples) {
			return []string{"to keep it: the line above as ENTRYPOINT of an image or ExecStart of a unit (folio exec --help); --tree changes the programs that it starts"}
		}
		return []string{
			"to keep it, one of these:",
			"the line above as ENTRYPOINT of an image or ExecStart of a unit (folio exec --help)",
			"where nothing may trace a process: folio patch PROGRAM -o COPY, and start the copy" + env,
		}
	}
	switch a.Setting.THP {
	case trial.THPSystem:
		return []string{"to keep it: " + env + "; it needs no patch, go build will do"}
	case trial.THPHeap:
	default:
		if env != "" {
			env += ", and "
		}
		return []string{fmt.Sprintf("to keep it: %sfolio run --thp=%s to start it; it needs no patch, go build will do", env, a.Setting.THP)}
	}
	if env != "" {
		env += ", and "
	}
	out := []string{
		"to keep it: " + env + "for the huge pages one of these:",
		a.Setting.Line([]string{"PROGRAM"}) + ": no patch in the program, go build will do (folio exec --help)",
		fmt.Sprintf("folio build %s: as it was measured, with the patch %s in the program", trial.Quote(r.Package), overlay.HeapHugePages),
		fmt.Sprintf(`import _ "github.com/foliomem/folio/auto" in package main, and FOLIO=%s in the environment: no patch, the heap grows into huge pages up to that size`, r.auto(a)),
	}
	if !r.always {
		out = append(out, "THP=always for the whole system (as root: echo always > /sys/kernel/mm/transparent_hugepage/enabled): no change to the program, but all others get huge pages, too")
	}
	return out
}

// keepBuild says how to have the build of an arm for good, and its settings: lines that a
// shell takes.
func (r *Result) keepBuild(a *Arm) []string {
	b := a.Setting.Build
	out := []string{"to keep it, all of these:"}
	add := func(line, about string) { out = append(out, line+"   # "+about) }
	var env []string
	about := "in the environment of every go build"
	if b.Go != "" {
		command, why := "go mod edit -toolchain="+b.Go, ""
		if r.places.Toolchain != nil {
			command, why = r.places.Toolchain(b.Go)
		}
		if command != "" {
			add(command, "the go command then takes "+b.Go+" by itself")
		} else {
			env = append(env, "GOTOOLCHAIN="+b.Go)
			about += "; no toolchain line in go.mod can choose " + b.Go + " here: " + why
		}
	}
	if b.Experiments != "" {
		all := variant.Build{Experiments: r.places.Experiments}.With(b)
		env = append(env, "GOEXPERIMENT="+all.Experiments)
	}
	if b.AMD64 != "" {
		env = append(env, "GOAMD64="+b.AMD64)
	}
	if len(env) > 0 { // before the lines that build
		add("export "+strings.Join(env, " "), about)
	}
	switch b.PGO {
	case "":
	case variant.PGOOff:
		add(r.goBuild("-pgo=off"), "or remove default.pgo")
	default:
		file, where := b.PGO, ""
		if file == variant.PGOAuto {
			file, where = r.places.Profile, filepath.Base(r.places.Profile)
		}
		switch {
		case r.places.Main != "" && !r.places.Test:
			add("cp "+trial.Quote(file)+" "+trial.Quote(filepath.Join(r.places.Main, "default.pgo")), "go build finds it there by itself")
		case where != "":
			add("cp "+trial.Quote(file)+" "+trial.Quote(where), "folio cache clean removes the first")
			add(r.goBuild("-pgo="+trial.Quote(where)), "with the path of the copy")
		default:
			add(r.goBuild("-pgo="+trial.Quote(file)), "in place of go "+r.verb())
		}
	}
	if b.Patches != "" && r.places.Test {
		add(strings.TrimSpace("folio go test --patch "+b.Patches+" "+r.places.Package), "in place of go test")
	} else if b.Patches != "" {
		add(strings.TrimSpace("folio build --patch "+b.Patches+" "+r.places.Package), "in place of go build")
	}
	set := a.Setting
	set.Build = variant.Build{}
	switch {
	case set.IsZero():
	case r.places.Test && set.THP != trial.THPSystem:
		out = append(out, "the line above: tests have no heap on huge pages by themselves")
	case set.THP == trial.THPSystem:
		add("export "+set.Line(nil), "in the environment of the program")
	default:
		add(set.Line([]string{"PROGRAM"}), "what starts the program")
	}
	return out
}

// verb is the subcommand of go that builds the program.
func (r *Result) verb() string {
	if r.places.Test {
		return "test"
	}
	return "build"
}

// goBuild returns the line that builds the program with a flag.
func (r *Result) goBuild(flag string) string {
	return strings.TrimSpace("go " + r.verb() + " " + flag + " " + r.places.Package)
}

// auto returns the setting of package auto that comes next to what was measured: the
// heap asks for huge pages as it grows, and the GC is left alone.
func (r *Result) auto(a *Arm) string {
	out := "reserve=limit"
	if m := mostMemory(a); !math.IsNaN(m) {
		out = "reserve=" + unit.Exact(roundLimit(uint64(m)))
	}
	if a.Setting.GOGC == "" && a.Setting.MemLimit == 0 {
		out += ",gc=off" // what is set in the environment it leaves alone by itself
	}
	return out
}
