package tune

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/program/overlay"
	"github.com/foliomem/folio/internal/program/variant"
	"github.com/foliomem/folio/internal/trial"
)

// Places are the files that keep a build.
type Places struct {
	Main    string // the directory of package main
	Profile string // the file of [variant.PGOAuto]
	Test    bool   // the program is a test, which go test builds: a line says all that is no build
}

// keep says how to have the setting of an arm for good: a heading, and below it the
// ways to choose from, or all that is to be done. It is nil for the default, and where the
// line of the setting says all.
func (r *Result) keep(a *Arm) []string {
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
		return []string{
			"to keep it, one of these:",
			"this line as ENTRYPOINT of an image or ExecStart of a unit (docs/exec.md)",
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
		a.Setting.Line([]string{"PROGRAM"}) + ": no patch in the program, go build will do (docs/exec.md)",
		fmt.Sprintf("folio build %s: as it was measured, with the patch %s in the program", trial.Quote(r.Package), overlay.HeapHugePages),
		fmt.Sprintf(`import _ "github.com/foliomem/folio/auto" in package main, and FOLIO=%s in the environment: no patch, the heap grows into huge pages up to that size`, r.auto(a)),
	}
	if !r.always {
		out = append(out, "THP=always for the whole system (as root: echo always > /sys/kernel/mm/transparent_hugepage/enabled): no change to the program, but all others get huge pages, too")
	}
	return out
}

// keepBuild says how to have the build of an arm for good, and its settings.
func (r *Result) keepBuild(a *Arm) []string {
	b := a.Setting.Build
	out := []string{"to keep it, all of these:"}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if b.Go != "" {
		add("go mod edit -toolchain=%s: go.mod then says toolchain %[1]s", b.Go)
	}
	switch b.PGO {
	case "":
	case variant.PGOOff:
		add("go build -pgo=off, or remove default.pgo")
	default:
		file := b.PGO
		if file == variant.PGOAuto {
			file = r.places.Profile
		}
		if r.places.Test {
			add("go test -pgo=%s", trial.Quote(file))
		} else {
			add("cp %s %s: go build finds it there by itself", trial.Quote(file), trial.Quote(filepath.Join(r.places.Main, "default.pgo")))
		}
	}
	var env []string
	if b.Experiments != "" {
		env = append(env, "GOEXPERIMENT="+b.Experiments)
	}
	if b.AMD64 != "" {
		env = append(env, "GOAMD64="+b.AMD64)
	}
	if len(env) > 0 {
		add("%s in the environment of every go build", strings.Join(env, " "))
	}
	if b.Patches != "" {
		add("folio build --patch %s in place of go build", b.Patches)
	}
	set := a.Setting
	set.Build = variant.Build{}
	switch {
	case set.IsZero():
	case r.places.Test && set.THP != trial.THPSystem:
		add("the line above: tests have no heap on huge pages by themselves")
	case set.THP == trial.THPSystem:
		add("%s in the environment of the program", set)
	default:
		add("%s: what starts the program", set.Line([]string{"PROGRAM"}))
	}
	return out
}

// auto returns the setting of package auto that comes next to what was measured: the
// heap asks for huge pages as it grows, and the GC is left alone.
func (r *Result) auto(a *Arm) string {
	out := "reserve=auto"
	if m := mostMemory(a); !math.IsNaN(m) {
		out = "reserve=" + unit.Exact(roundLimit(uint64(m)))
	}
	if a.Setting.GOGC == "" && a.Setting.MemLimit == 0 {
		out += ",gc=off" // what is set in the environment it leaves alone by itself
	}
	return out
}
