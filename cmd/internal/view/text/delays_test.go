package text

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/report"
)

// delaysFile is a run of a server whose requests are slow while it collects garbage.
func delaysFile() *result.File {
	f := loadedFile([]*trial.Sample{loadedSample(1, 41e6)})
	f.Arms[0].Delays = &delay.Answer{Runs: 1, Slow: 20, Episodes: 8, State: delay.Found, Cause: delay.Assists, None: 0.1, Causes: []delay.Share{
		{Cause: delay.Assists, Slow: 0.83, All: 0.12, Chance: 0.2, Excess: 0.63, P: 0.0033, Found: true, Part: 0.6},
	}}
	return f
}

// The sentence is in the sheet, and the same of the file.
func TestDelaysOfRun(t *testing.T) {
	f := delaysFile()
	var b, again bytes.Buffer
	if err := show(&b, f, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\n  "+report.Delays(&f.Arms[0])+"\n") {
		t.Errorf("%s", b.String())
	}
	if err := show(&again, savedAgain(t, f), Options{Full: true}); err != nil || again.String() != b.String() {
		t.Errorf("%v: read back\n%s", err, again.String())
	}
	data, err := json.Marshal(f.Arms[0])
	if err != nil || !strings.Contains(string(data), `"delays":{"runs":1,"slow_requests":20,"slow_episodes":8,"state":"found","cause":"gc_cycle_with_assists"`) {
		t.Errorf("%v: %s", err, data)
	}
}

// What a search advises beside its settings stands below them, and in the file.
func TestAdviceOfSearch(t *testing.T) {
	f := delaysFile()
	f.Program.Command = []string{"./server"}
	step, ok := f.Delayed(&f.Arms[0]).Advise()
	if !ok {
		t.Fatal("no advice")
	}
	f.Advice = []result.NextStep{step}
	var b bytes.Buffer
	f.Kind = result.KindTune
	p := &printer{w: &b, o: Options{Full: true}}
	for _, a := range document.Text(f).Sections[0].Answers {
		if strings.Contains(a.Text, "Keep requests") {
			p.answer(a)
		}
	}
	const want = `Keep requests from marking for the GC, by the patch gc-noassist: costs 5% more heap, at worst 16%, and more GC cycles.
  folio build --patch gc-noassist -o server-noassist PACKAGE   # PACKAGE: what it is built from; then run it under the same load; FOLIO_ASSIST=on in its environment turns the patch off
  Seen: 83.0% of the slow requests overlap a GC cycle with assists, 20.0% would by chance. Explained at https://go.dev/issue/56966.
`
	if b.String() != want || p.err != nil {
		t.Errorf("%v\n%s", p.err, b.String())
	}
	if again := savedAgain(t, f); len(again.Advice) != 1 || again.Advice[0] != step {
		t.Errorf("read back: %+v", again.Advice)
	}
	f.Program.Patches = []string{"gc-noassist@0123456789ab"}
	if _, ok := f.Delayed(&f.Arms[0]).Advise(); ok {
		t.Error("advice for a program that has the patch")
	}
}
