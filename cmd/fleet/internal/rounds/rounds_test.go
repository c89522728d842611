package rounds

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

// A runner makes samples: cost by setting.
type runner func(s trial.Setting) (*trial.Sample, error)

func (r runner) Run(_ context.Context, s trial.Setting, _ trial.Request) (*trial.Sample, error) {
	return r(s)
}

func planOf(t *testing.T, n int, settings ...string) *Plan {
	t.Helper()
	p := &Plan{Settings: []trial.Setting{{}}, Rounds: n, Metric: "wall", Timeout: time.Minute, Budget: time.Hour}
	for _, text := range settings {
		s, err := ParseSetting(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Settings = append(p.Settings, s)
	}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	return p
}

// ran runs a driver and returns the lines of its log.
func ran(t *testing.T, d *Driver) []Line {
	t.Helper()
	var log bytes.Buffer
	d.Log = &log
	if err := d.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return linesOf(t, log.Bytes())
}

func linesOf(t *testing.T, data []byte) (out []Line) {
	t.Helper()
	if err := Read(bytes.NewReader(data), func(l Line) { out = append(out, l) }); err != nil {
		t.Fatal(err)
	}
	return out
}

func kinds(lines []Line) (out []Kind) {
	for _, l := range lines {
		out = append(out, l.Kind)
	}
	return out
}

func good(s trial.Setting) (*trial.Sample, error) {
	peak := uint64(1 << 20)
	return &trial.Sample{Wall: 2, CPU: 1, PeakRSS: &peak, MinorFaults: 3, MajorFaults: 4}, nil
}

func TestRounds(t *testing.T) {
	d := &Driver{Plan: planOf(t, 3, "GOGC=200", "GOGC=400"), Runner: runner(good), Node: "node-1", CPU: "a CPU"}
	lines := ran(t, d)
	if got := kinds(lines); !slices.Equal(got, []Kind{Begin, Round, Round, Round, End}) {
		t.Fatal(got)
	}
	if lines[0].Node != "node-1" || lines[0].CPU != "a CPU" || lines[4].Round != 3 {
		t.Errorf("%+v", lines)
	}
	for i, l := range lines[1:4] {
		if l.Round != i+1 || len(l.Runs) != 3 {
			t.Fatalf("%+v", l)
		}
		for j, r := range l.Runs {
			if want := (Run{Setting: j, Wall: 2, CPU: 1, Memory: 1 << 20, Faults: 7, Metric: 2}); r != want {
				t.Errorf("%+v", r)
			}
		}
	}
}

// A setting that fails is left out; a round in which the default fails is lost; a program
// that always fails ends the pod.
func TestFailures(t *testing.T) {
	n := 0
	full := func(s trial.Setting) (*trial.Sample, error) {
		x, _ := good(s)
		if s.IsZero() {
			if n++; n == 3 {
				x.Failure = "exit status 1"
				x.Tail = "write /tmp/x: no space left on device\n"
			}
		}
		if s.GOGC == "400" {
			x.Failure = "took longer than 1m"
		}
		return x, nil
	}
	lines := ran(t, &Driver{Plan: planOf(t, 4, "GOGC=200", "GOGC=400"), Runner: runner(full)})
	if got := kinds(lines); !slices.Equal(got, []Kind{Begin, Round, Lost, Round, Round, Out, Round, End}) {
		t.Fatal(got)
	}
	if l := lines[2]; l.Round != 2 || !strings.Contains(l.Reason, "no space left on device") {
		t.Errorf("%+v", l)
	}
	if l := lines[5]; l.Setting != 2 || !strings.Contains(l.Reason, "longer than 1m") {
		t.Errorf("%+v", l)
	}
	if l := lines[6]; len(l.Runs) != 2 {
		t.Errorf("%+v", l)
	}

	bad := func(s trial.Setting) (*trial.Sample, error) {
		x, _ := good(s)
		x.Failure = "exit status 1"
		return x, nil
	}
	lines = ran(t, &Driver{Plan: planOf(t, 4, "GOGC=200"), Runner: runner(bad)})
	if got := kinds(lines); !slices.Equal(got, []Kind{Begin, Lost, Lost, Failed}) {
		t.Fatal(got)
	}
	none := func(trial.Setting) (*trial.Sample, error) {
		return nil, &trial.StartError{Command: "/x", Err: os.ErrNotExist}
	}
	lines = ran(t, &Driver{Plan: planOf(t, 4, "GOGC=200"), Runner: runner(none)})
	if got := kinds(lines); !slices.Equal(got, []Kind{Begin, Failed}) || !strings.Contains(lines[1].Reason, "/x: no such file") {
		t.Fatal(got, lines)
	}
}

var errKilled = errors.New("killed")

// A container that is killed while a setting runs is started again, and goes on. What was
// said before is said again, and a setting that kills twice is left out.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	plan := planOf(t, 4, "GOGC=200", "GOGC=800")
	runs := 0
	kills := func(s trial.Setting) (*trial.Sample, error) {
		runs++
		if s.GOGC == "800" && runs > 7 { // in the third round
			return nil, errKilled // what the process does not live to see
		}
		return good(s)
	}
	var log bytes.Buffer
	for i := range 2 {
		d := &Driver{Plan: plan, Runner: runner(kills), Dir: dir, Log: &log}
		if err := d.Run(context.Background()); !errors.Is(err, errKilled) {
			t.Fatalf("start %d: %v", i, err)
		}
	}
	// The file ends in the middle of a line: the kill came while it was written.
	f, err := os.OpenFile(filepath.Join(dir, fileName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"folio":"rou`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	lines := ran(t, &Driver{Plan: plan, Runner: runner(kills), Dir: dir})
	if got := kinds(lines); !slices.Equal(got, []Kind{Begin, Round, Round, Killed, Killed, Out, Round, Round, End}) {
		t.Fatal(got)
	}
	if lines[3].Round != 3 || lines[4].Round != 4 || lines[5].Setting != 2 || lines[6].Round != 5 || len(lines[6].Runs) != 2 {
		t.Errorf("%+v", lines)
	}
	// Once more, as when the pod's log is lost: all is said again, and nothing is run.
	before := runs
	again := ran(t, &Driver{Plan: plan, Runner: runner(kills), Dir: dir})
	if got := kinds(again); !slices.Equal(got, []Kind{Begin, Round, Round, Killed, Killed, Out, Round, Round, End}) || runs > before+1 {
		t.Fatal(got, runs-before)
	}
}

func TestDefaultKilled(t *testing.T) {
	dir := t.TempDir()
	plan := planOf(t, 4, "GOGC=200")
	runs := 0
	kills := func(s trial.Setting) (*trial.Sample, error) { runs++; return nil, errKilled }
	for range 2 {
		if err := (&Driver{Plan: plan, Runner: runner(kills), Dir: dir, Log: &bytes.Buffer{}}).Run(context.Background()); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
	}
	for range 2 {
		lines := ran(t, &Driver{Plan: plan, Runner: runner(kills), Dir: dir})
		if got := kinds(lines); !slices.Equal(got, []Kind{Begin, Killed, Killed, Failed}) {
			t.Fatal(got)
		}
	}
	if runs != 2 {
		t.Errorf("%d runs", runs)
	}
}

// Where the file cannot be written, rounds are on the log all the same.
func TestFullDisk(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(full, filepath.Join(dir, fileName)); err != nil {
		t.Fatal(err)
	}
	lines := ran(t, &Driver{Plan: planOf(t, 2, "GOGC=200"), Runner: runner(good), Dir: dir})
	if got := kinds(lines); !slices.Equal(got, []Kind{Begin, Round, Round, End}) {
		t.Error(got)
	}
}

func TestParseSetting(t *testing.T) {
	for _, text := range []string{"GOGC=400", "GOGC=off GOMEMLIMIT=512MiB", "GOMAXPROCS=2", "thp=heap", "GOGC=400 thp=off", "GOGC=200 X=1"} {
		s, err := ParseSetting(text)
		if err != nil || s.String() != text {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	for text, want := range map[string]string{
		"": "changes nothing", "GOGC": "NAME=VALUE", "GOGC=": "NAME=VALUE", "GOGC=x": "whole percentage", "GOGC=1 GOGC=2": "twice",
		"GOGC=off": "add GOMEMLIMIT", "thp=collapse": "rights", "thp=x": `--setting "thp=x": thp "x": want heap or off`, "GOMAXPROCS=0": "1 or more", "GOMEMLIMIT=x": "x",
		"GOMAXPROCS=x":       `--setting "GOMAXPROCS=x": GOMAXPROCS "x": want a whole number, 1 or more`,
		"thp=system":         "changes nothing",
		"GODEBUG=gctrace=on": "a Go program ignores this value",
	} {
		if s, err := ParseSetting(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "strconv") {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

func TestPlan(t *testing.T) {
	for name, change := range map[string]func(*Plan){
		"twice":            func(p *Plan) { p.Settings = append(p.Settings, p.Settings[1]) },
		"1 to 31":          func(p *Plan) { p.Settings = p.Settings[:1] },
		"want the default": func(p *Plan) { p.Settings[0].GOGC = "50" },
		"--rounds 0: want": func(p *Plan) { p.Rounds = 0 },
		"under load":       func(p *Plan) { p.Metric = "p99" },
		"x': want wall, cpu, ns/op or NAME=REGEXP": func(p *Plan) { p.Metric = "x" },
		"--run-timeout 0s":                         func(p *Plan) { p.Timeout = 0 },
		"--budget 0s":                              func(p *Plan) { p.Budget = 0 },
	} {
		p := planOf(t, 1, "GOGC=200")
		if change(p); p.Check() == nil || !strings.Contains(p.Check().Error(), name) {
			t.Errorf("%s: %v", name, p.Check())
		}
	}
	if _, err := ParsePlan(""); err == nil || !strings.Contains(err.Error(), PlanEnv) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"folio\":\"round\",\"round\":1,\"runs\":[{\"setting\":1}]}\nnoise\n{\"folio\":\"rou"))
	f.Add(bytes.Repeat([]byte("x"), maxLine+1))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		if err := Read(bytes.NewReader(data), func(Line) { n++ }); err != nil {
			t.Fatal(err)
		}
		if n > bytes.Count(data, []byte("\n")) {
			t.Errorf("%d lines", n)
		}
	})
}
