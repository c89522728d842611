package diagnose

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial/delay"
)

// delayed is a server whose slow requests overlap GC cycles with assists.
func delayed() Delayed {
	return Delayed{Program: "./bin/server", Delays: &delay.Answer{Runs: 1, Slow: 100, Episodes: 20, State: delay.Found, Cause: delay.Assists,
		Causes: []delay.Share{
			{Cause: delay.Throttled, Slow: 0.3, Chance: 0.05, Excess: 0.25, Found: true},
			{Cause: delay.Assists, Slow: 0.83, Chance: 0.2, Excess: 0.63, Found: true},
			{Cause: delay.Cycle, Slow: 0.85, Chance: 0.25, Excess: 0.6, Found: true},
		}}}
}

func TestAdviseAssists(t *testing.T) {
	const then = "then run it under the same load; FOLIO_ASSIST=on in its environment turns the patch off"
	const of = "   # PACKAGE: what it is built from; " + then
	for _, c := range []struct {
		name   string
		change func(*Delayed)
		fix    string // "": no advice
	}{
		{"assists", func(*Delayed) {}, "folio build --patch gc-noassist -o server-noassist PACKAGE" + of},
		{"built", func(d *Delayed) {
			d.Program, d.Package, d.Patches = "server", "./cmd/server", []string{"heap-hugepages@0123456789ab"}
		}, "folio build --patch heap-hugepages,gc-noassist -o server-noassist ./cmd/server   # " + then},
		{"built of files", func(d *Delayed) { d.Program, d.Package = "a", "a b.go c.go" },
			"folio build --patch gc-noassist -o a-noassist a b.go c.go   # " + then},
		{"a name to quote", func(d *Delayed) { d.Program = "/x/my server" },
			"folio build --patch gc-noassist -o 'my server-noassist' PACKAGE" + of},
		{"pauses are the narrower cause", func(d *Delayed) { d.Delays.Cause = delay.Pause },
			"folio build --patch gc-noassist -o server-noassist PACKAGE" + of},
		{"the quota delays more", func(d *Delayed) { d.Delays.Cause = delay.Throttled },
			"folio build --patch gc-noassist -o server-noassist PACKAGE" + of},
		{"cycles without assists as much", func(d *Delayed) { d.Delays.Cause = delay.Cycle }, ""},
		{"assists not found", func(d *Delayed) { d.Delays.Causes[1].Found = false }, ""},
		{"no trace", func(d *Delayed) { d.Delays.Causes = d.Delays.Causes[:1] }, ""},
		{"unclear", func(d *Delayed) { d.Delays.State = delay.Unclear }, ""},
		{"too few", func(d *Delayed) { d.Delays.State = delay.TooFew }, ""},
		{"has the patch", func(d *Delayed) { d.Patches = []string{"heap-hugepages@0", "gc-noassist@1"} }, ""},
		{"nothing known", func(d *Delayed) { d.Delays = nil }, ""},
	} {
		d := delayed()
		c.change(&d)
		got, ok := d.Advise()
		if ok != (c.fix != "") || got.Fix != c.fix {
			t.Errorf("%s:\n%v %s\nwant\n%s", c.name, ok, got.Fix, c.fix)
		}
		if ok && (got.Rule != "assists" || got.Gain != 0 || got.Source != "https://go.dev/issue/56966" ||
			got.What != "Keep requests from marking for the GC, by the patch gc-noassist: costs 5% more heap, at worst 16%, and more GC cycles" ||
			got.Evidence != "83.0% of the slow requests overlap a GC cycle with assists, 20.0% would by chance") {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// It comes after what saves CPU time, and alone where memory is not a problem else.
func TestAdviseAssistsInOrder(t *testing.T) {
	s := busy()
	s.Delayed = delayed()
	if got := s.Advise(); len(got) != 2 || got[0].Rule != "gc" || got[1].Rule != "assists" {
		t.Errorf("%+v", got)
	}
	*s.RuntimeCPU = 0
	a := s.Analyze()
	if len(a.Findings) != 1 || a.Findings[0].Rule != "assists" || a.Nothing != "" {
		t.Errorf("%+v", a)
	}
}
