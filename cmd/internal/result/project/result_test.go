package project

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// The setting of a result is what it recommends; where that has no place in files, a line says so.
func TestFromResult(t *testing.T) {
	dir := directory(t, t.TempDir(), "-- Dockerfile --\nFROM golang\nCMD [\"a\"]\n")
	recommend := func(change func(s *result.Setting)) func(f *result.File) {
		return func(f *result.File) {
			for i := range f.Arms {
				if f.Arms[i].Name == f.Recommendations[0].Arm {
					change(&f.Arms[i].Setting)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		change func(f *result.File)
		want   string // in the diff, or the error
		note   string
	}{
		"GOGC":            {nil, "+ENV GOGC=400\n", ""},
		"huge pages":      {recommend(func(s *result.Setting) { s.THP, s.MemLimit = "heap", new(uint64(1<<30)) }), `+CMD ["folio", "exec", "--thp", "heap", "--gogc", "400", "--memlimit", "1GiB", "--", "a"]`, ""},
		"other variables": {recommend(func(s *result.Setting) { s.Env = []string{"A=b c"} }), "+ENV GOGC=400\n", "not written: the variables of the search: A=b c"},
		"inconclusive":    {func(f *result.File) { f.Answer.State = result.AnswerInconclusive }, "+ENV GOGC=400\n", "the search was inconclusive"},
		"misread":         {recommend(func(s *result.Setting) { s.GOGC = new("400%") }), "--from tune.json: GOGC=400%: ", ""},
		"collapse":        {recommend(func(s *result.Setting) { s.THP = "collapse" }), "--from tune.json: it recommends thp=collapse, which only folio run has", ""},
		"a build":         {recommend(func(s *result.Setting) { s.Build = &variant.Build{PGO: "x.pprof"} }), "--from tune.json: it recommends another build of the program: ", ""},
		"the default":     {func(f *result.File) { f.Recommendations[0].Arm = f.Arms[0].Name }, "--from tune.json: it recommends the default: nothing to write; --remove", ""},
		"no answer":       {func(f *result.File) { f.Answer.State = tune.TooLittle }, "--from tune.json: it recommends nothing: too little was measured", ""},
		"of another kind": {func(f *result.File) { f.Kind = result.KindRun }, "--from tune.json: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := resulttest.Tune(5, "./server")
			if c.change != nil {
				c.change(f)
			}
			p, err := Look(dir, Options{Image: "i", From: "tune.json", Result: resulttest.Encode(t, f)})
			if strings.HasPrefix(c.want, "--from") {
				if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%v, %s", err, p.diff())
				}
				return
			}
			if err != nil || !strings.Contains(p.diff(), c.want) || c.note != "" && !strings.HasPrefix(p.Notes[0], c.note) {
				t.Errorf("%v, %q\n%s", err, p.Notes, p.diff())
			}
		})
	}
	if _, err := Look(dir, Options{From: "x.json", Result: []byte("{")}); err == nil || !strings.HasPrefix(err.Error(), "--from x.json: ") {
		t.Error(err)
	}
}
