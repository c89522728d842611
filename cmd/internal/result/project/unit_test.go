package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

func TestUnits(t *testing.T) {
	set := Options{Setting: trial.Setting{THP: trial.THPHeap, GOGC: "400"}}
	const mod = "-- go.mod --\nmodule x\n"
	for name, c := range map[string]struct {
		o     Options
		unit  string
		want  string // lines of the drop-in's block; "" for none
		notes []string
	}{
		"plain": {set, "[Unit]\nDescription=x\n\n[Service]\nType=notify\nExecStart=/opt/none/api --port 80\nExecStartPre=/bin/true\n",
			"ExecStart=\nExecStart=folio exec --thp heap --gogc 400 -- /opt/none/api --port 80\n",
			[]string{"api@.service: ExecStart=/opt/none/api: the directory has a go.mod"}},
		"prefixes, continuation, comments": {set, "[Service]\n# ExecStart=/x\nExecStart=/opt/none/old\nExecStart=\n ExecStart = -+\"/opt/none/my api\" %i \\\n; comment\n  --b=\"c d\" \\\n  $ARGS\n[Install]\nExecStart=/no\n",
			"ExecStart=\nExecStart=-+folio exec --thp heap --gogc 400 -- \"/opt/none/my api\" %i \\\n  --b=\"c d\" \\\n  $ARGS\n",
			[]string{"api@.service: ExecStart=/opt/none/my api: "}},
		"variables": {Options{Setting: trial.Setting{GOGC: "off", MemLimit: 1 << 30}}, "[Service]\nExecStart=/opt/none/api\n",
			"Environment=GOGC=off\nEnvironment=GOMEMLIMIT=1GiB\n", []string{"api@.service: ExecStart=/opt/none/api: "}},
		"a variable that has no flag": {Options{Setting: trial.Setting{THP: trial.THPHeap, GOMAXPROCS: 2}}, "[Service]\nExecStart=api\n",
			"ExecStart=\nExecStart=folio exec --thp heap -- api\nEnvironment=GOMAXPROCS=2\n", []string{"api@.service: ExecStart=api: "}},
		"several": {set, "[Service]\nType=oneshot\nExecStart=/opt/none/a\nExecStart=/bin/sh -c x\nSystemCallFilter=@system-service\n",
			"ExecStart=\nExecStart=folio exec --thp heap --gogc 400 -- /opt/none/a\nExecStart=/bin/sh -c x\n",
			[]string{"api@.service: ExecStart=/opt/none/a: ", "api@.service: not changed: /bin/sh is not a Go program", "api@.service: folio exec needs ptrace"}},
		"not Go":       {set, "[Service]\nExecStart=/bin/sh -c 'x'\n", "", []string{"api@.service: not changed: /bin/sh is not a Go program"}},
		"another name": {set, "[Service]\nExecStart=@/opt/none/a b c\n", "", []string{"api@.service: not changed: ExecStart=@/opt/none/a b c is not a plain command"}},
		"by hand":      {set, "[Service]\nExecStart=/usr/bin/folio exec -- /a\n", "", []string{"api@.service: not changed: ExecStart= has folio exec already"}},
		"no command":   {set, "[Unit]\nExecStart=/a\n", "", []string{"api@.service: not changed: it has no ExecStart="}},
	} {
		t.Run(name, func(t *testing.T) {
			before := mod + "-- api@.service --\n" + c.unit
			after := before
			if c.want != "" {
				after += "-- api@.service.d/folio.conf --\n[Service]\n# BEGIN folio init\n" + c.want + "# END folio init\n"
			}
			fileCase{c.o, before, after, c.notes}.check(t, t.TempDir())
			dir := directory(t, t.TempDir(), crlf(before))
			must(t, dir, c.o)
			got, _ := os.ReadFile(filepath.Join(dir, "api@.service.d", "folio.conf"))
			if want := strings.TrimPrefix(after, before+"-- api@.service.d/folio.conf --\n"); after != before && string(got) != want || after == before && got != nil {
				t.Errorf("of a unit with CRLF: %q", got)
			}
		})
	}
}

// Whether a program is a Go program is seen where it is, or beside the unit.
func TestUnitOfProgram(t *testing.T) {
	dir := directory(t, t.TempDir(), "-- a.service --\n[Service]\nExecStart=/opt/none/a\n")
	p, err := Look(dir, Options{Setting: heap})
	if want := "a.service: not changed: /opt/none/a is not known to be a Go program: there is no such file here, and no go.mod"; err != nil || len(p.Changes) > 0 || p.Notes[0] != want {
		t.Errorf("%+v, %v", p, err)
	}
	goProgram(t, filepath.Join(dir, "a"))
	p, err = Look(dir, Options{Setting: heap})
	if err != nil || len(p.Changes) != 1 || !strings.HasPrefix(p.Notes[0], "a.service: ExecStart=/opt/none/a: "+filepath.Join(dir, "a")+" is built with go1.") {
		t.Errorf("%+v, %v", p, err)
	}
	directory(t, dir, "-- a.service --\n[Service]\nExecStart="+filepath.Join(dir, "a")+" b\n")
	if p, err = Look(dir, Options{Setting: heap}); err != nil || len(p.Changes) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// What the user put beside it stays, and so does a drop-in that is the user's.
func TestUnitOfUsers(t *testing.T) {
	dir := directory(t, t.TempDir(), "-- go.mod --\n-- a.service --\n[Service]\nExecStart=a\n-- b.service --\n[Service]\nExecStart=b\n-- b.service.d/folio.conf --\n[Service]\nNice=1\n")
	p := must(t, dir, Options{Setting: heap})
	if len(p.Changes) != 1 || p.Notes[1] != "b.service: not changed: "+filepath.Join("b.service.d", "folio.conf")+" exists, and is not by folio init" {
		t.Errorf("%+v", p)
	}
	file := filepath.Join(dir, "a.service.d", "folio.conf")
	data, _ := os.ReadFile(file)
	if err := os.WriteFile(file, append(data, "MemoryMax=1G\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "a.service")); err != nil {
		t.Fatal(err)
	}
	must(t, dir, Options{Remove: true})
	if got, want := files(t, dir), "-- a.service.d/folio.conf --\n[Service]\nMemoryMax=1G\n-- b.service --\n[Service]\nExecStart=b\n-- b.service.d/folio.conf --\n[Service]\nNice=1\n-- go.mod --\n"; got != want {
		t.Errorf("got\n%s", got)
	}
}

// The drop-in starts what the unit starts.
func FuzzUnit(f *testing.F) {
	for _, s := range []string{"[Service]\nExecStart=/a b\n", "[Service]\r\nExecStart=a \\\r\n;\r\n b\r\nExecStart=\n", "[Service]\nExecStart=-\"a\"b\\", "ExecStart=a"} {
		f.Add(s)
	}
	dir := directory(f, f.TempDir(), "-- go.mod --\n")
	f.Fuzz(func(t *testing.T, unit string) {
		p := &planner{Options: Options{Setting: heap}, Plan: Plan{dir: dir}}
		lines := p.serviceLines("a.service", unit)
		if lines == nil {
			return
		}
		got := execStarts("[Service]\n" + strings.Join(lines, "\n") + "\n")
		want := execStarts(unit)
		if len(got) != len(want) {
			t.Fatalf("%q\n%q", got, want)
		}
		for i := range got {
			if out := strings.Replace(got[i], "folio exec --thp heap -- ", "", 1); out != want[i] {
				t.Fatalf("%q\n%q", got[i], want[i])
			}
		}
	})
}
