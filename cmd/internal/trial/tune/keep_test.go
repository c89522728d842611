package tune

import (
	"slices"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// What keeps a build are lines that a shell takes.
func TestKeepBuild(t *testing.T) {
	const profile = "/c/folio/profiles/0f.pgo"
	line := func(release string) (string, string) { return "go mod edit -toolchain=" + release, "" }
	local := func(string) (string, string) { return "", "GOTOOLCHAIN=local" }
	main := Places{Main: "cmd/x", Package: "./cmd/x", Profile: profile, Toolchain: line}
	foreign := Places{Package: "example.com/y/cmd/x", Profile: profile, Toolchain: local, Experiments: "jsonv2,synctest"}
	test := Places{Package: "./b", Profile: profile, Test: true, Toolchain: line}
	all := variant.Build{Go: "go1.27.4", Experiments: "nogreenteagc", AMD64: "v3", PGO: variant.PGOAuto, Patches: "heap-minimum"}
	for _, tt := range []struct {
		name   string
		places Places
		set    trial.Setting
		want   []string
	}{
		{"all", main, trial.Setting{Build: all, GOGC: "400", THP: trial.THPHeap}, []string{
			"go mod edit -toolchain=go1.27.4   # the go command then takes go1.27.4 by itself",
			"export GOEXPERIMENT=nogreenteagc GOAMD64=v3   # in the environment of every go build",
			"cp /c/folio/profiles/0f.pgo cmd/x/default.pgo   # go build finds it there by itself",
			"folio build --patch heap-minimum ./cmd/x   # in place of go build",
			"folio exec --thp heap --gogc 400 -- PROGRAM   # what starts the program",
		}},
		{"of another module", foreign, trial.Setting{Build: all, GOGC: "400"}, []string{
			"export GOTOOLCHAIN=go1.27.4 GOEXPERIMENT=nogreenteagc,jsonv2,synctest GOAMD64=v3   # in the environment of every go build; no toolchain line in go.mod can choose go1.27.4 here: GOTOOLCHAIN=local",
			"cp /c/folio/profiles/0f.pgo 0f.pgo   # folio cache clean removes the first",
			"go build -pgo=0f.pgo example.com/y/cmd/x   # with the path of the copy",
			"folio build --patch heap-minimum example.com/y/cmd/x   # in place of go build",
			"export GOGC=400   # in the environment of the program",
		}},
		{"a file", foreign, trial.Setting{Build: variant.Build{PGO: "my cpu.pprof"}}, []string{
			"go build -pgo='my cpu.pprof' example.com/y/cmd/x   # in place of go build",
		}},
		{"a file of one's own", main, trial.Setting{Build: variant.Build{PGO: "my cpu.pprof"}}, []string{
			"cp 'my cpu.pprof' cmd/x/default.pgo   # go build finds it there by itself",
		}},
		{"off", main, trial.Setting{Build: variant.Build{PGO: variant.PGOOff}}, []string{
			"go build -pgo=off ./cmd/x   # or remove default.pgo",
		}},
		{"a test", test, trial.Setting{Build: variant.Build{PGO: variant.PGOAuto, Patches: "heap-minimum"}, THP: trial.THPOff}, []string{
			"cp /c/folio/profiles/0f.pgo 0f.pgo   # folio cache clean removes the first",
			"go test -pgo=0f.pgo ./b   # with the path of the copy",
			"folio go test --patch heap-minimum ./b   # in place of go test",
			"the line above: tests have no heap on huge pages by themselves",
		}},
	} {
		a := &Arm{Arm: trial.NewArm(tt.set)}
		r := &Result{Arms: []*Arm{{Arm: trial.NewArm(trial.Setting{})}, a}, places: tt.places}
		got := r.keep(a)
		want := append([]string{"to keep it, all of these:"}, tt.want...)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
