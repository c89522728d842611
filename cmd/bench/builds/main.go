// Command builds makes a table of what builds give programs, from results of folio tune.
//
//	go run ./cmd/bench/builds RESULT.json...
//
// Each result is of one program, with the same builds asked for, such as
//
//	folio tune --build ./cmd/server --go go1.26.8,go1.27.4 --goexperiment nogreenteagc \
//		--pgo auto --goamd64 v3 --budget 30m --json server.json -- args
//
// A row has what each step gives alone, what the settings of the runtime that are
// recommended give alone, and what all of the recommendation gives together, each against
// the default within the rounds of the final, with its interval; and what the builds took.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "builds:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, files []string) error {
	if len(files) == 0 {
		return errors.New("want results of folio tune --json")
	}
	var results []*result.File
	var steps []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f := &result.File{}
		if err := json.Unmarshal(data, f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if f.Answer == nil || len(f.Answer.Steps) == 0 || len(f.Recommendations) == 0 {
			return fmt.Errorf("%s: no builds were searched in it", name)
		}
		results = append(results, f)
		for _, s := range builds(f) {
			if !slices.Contains(steps, s.What) {
				steps = append(steps, s.What)
			}
		}
	}
	head := append([]string{"program"}, steps...)
	t := table.New(w, append(head, "settings alone", "together", "recommended", "builds took")...)
	for _, f := range results {
		row := []string{result.CommandName(f.Program.Command)}
		for _, step := range steps {
			row = append(row, gives(builds(f), step))
		}
		settings := "none"
		if rest := f.Answer.Steps[len(builds(f)):]; len(rest) > 0 {
			settings = report.Change(rest[0].Alone)
		}
		took := "-"
		if f.BuildSeconds != nil {
			took = unit.ElapsedSeconds(*f.BuildSeconds)
		}
		main := f.Recommendations[0]
		t.Row(append(row, settings, report.Change(main.Ratio), main.Arm, took)...)
	}
	return nil
}

// builds are the steps of a result that are builds: the settings of what is recommended
// come behind them.
func builds(f *result.File) []tune.Step {
	n := len(f.Answer.Steps)
	rest := f.Recommendations[0].Setting.Runtime()
	if n > 0 && !rest.IsZero() && f.Answer.Steps[n-1].What == rest.String() {
		n--
	}
	return f.Answer.Steps[:n]
}

func gives(steps []tune.Step, what string) string {
	for _, s := range steps {
		switch {
		case s.What != what:
		case s.Failed != "":
			return "failed"
		case s.Alone == nil:
			return "not known"
		default:
			return report.Change(s.Alone)
		}
	}
	return "-"
}
