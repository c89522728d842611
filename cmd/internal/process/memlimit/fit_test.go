package memlimit

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const mib = 1 << 20

func TestFit(t *testing.T) {
	other := Runtime{PID: 7, Name: "b", Resident: 100 * mib, Live: 50 * mib, Limit: 800 * mib}
	for _, c := range []struct {
		name                       string
		limit, fixed, resident, is uint64 // MiB; is: the GOMEMLIMIT that it has
		others                     []Runtime
		most                       uint64
		breaks                     bool
		says                       string
	}{
		{"all of the container", 192, 127, 100, 192, nil, 155, true,
			"192.0MiB less 27.00MiB outside the Go runtime (27.00MiB other memory of processes), less a margin of 9.600MiB."},
		{"99% of it", 1000, 605, 600, 990, nil, 945, true, ""},
		{"95% of it", 1000, 605, 600, 950, nil, 945, false, ""},
		{"what is advised", 192, 170, 100, 112, nil, 112, false, ""},
		{"172 of 192, with 70 outside", 192, 170, 100, 172, nil, 112, true, ""},
		{"240 of 300 elsewhere", 300, 260, 20, 270, nil, 0, true, "No limit helps: 240.0MiB of 300.0MiB are elsewhere (240.0MiB other memory of processes)."},
		{"two", 900, 210, 100, 800, []Runtime{other}, 422, true, "; process 7 (b) needs GOMEMLIMIT=422MiB as well."},
		{"two, of which one has a small limit", 900, 210, 100, 700, []Runtime{{PID: 7, Resident: 100 * mib, Live: 50 * mib, Limit: 100 * mib}}, 745, false, ""},
		{"a container smaller than the margin", 4, 4, 3, 4, nil, 0, true, "No limit helps"},
	} {
		own := Runtime{Resident: c.resident * mib, Live: c.resident * mib / 2, Needs: c.resident * mib / 2}
		f := Container{Limit: c.limit * mib, Fixed: new(c.fixed * mib)}.Fit(own, 0, c.others...)
		if f.Most != c.most*mib || f.Breaks(c.is*mib) != c.breaks || !strings.Contains(f.Reason(), c.says) {
			t.Errorf("%s: %d MiB, breaks: %v; %s", c.name, f.Most/mib, f.Breaks(c.is*mib), f.Reason())
		}
	}
}

// A limit that does not help can fit all the same: up to what is left, or a share of it.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		name          string
		outside, live uint64 // MiB
		others        []Runtime
		fits          uint64
	}{
		{"a small part of the container", 780, 60, nil, 170},
		{"less than the live heap", 780, 200, nil, 170},
		{"nothing left", 960, 60, nil, 0},
		{"shared, less than both live heaps", 700, 200, []Runtime{{PID: 7, Live: 50 * mib}}, 200},
	} {
		f := Container{Limit: 1000 * mib, Fixed: new(c.outside * mib)}.Fit(Runtime{Live: c.live * mib, Needs: c.live * mib}, 0, c.others...)
		if f.Fits != c.fits*mib || f.Most != 0 {
			t.Errorf("%s: %d MiB fit, at most %d", c.name, f.Fits/mib, f.Most/mib)
		}
	}
}

// What fits never comes to more than the container with all that is outside and the margin, nor
// does a program with this limit break it.
func TestFitProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Uint64Range(0, 1<<44)
		draw := func(name string) Runtime {
			return Runtime{PID: 1, Resident: size.Draw(t, name+" resident"), Live: size.Draw(t, name+" live"), Needs: size.Draw(t, name+" needs"), Limit: size.Draw(t, name+" limit")}
		}
		c := Container{Limit: size.Draw(t, "limit"), Shared: size.Draw(t, "shared"), Kernel: size.Draw(t, "kernel")}
		if rapid.Bool().Draw(t, "known") {
			c.Fixed = new(size.Draw(t, "fixed"))
		}
		var others []Runtime
		for range rapid.IntRange(0, 3).Draw(t, "others") {
			others = append(others, draw("other"))
		}
		f := c.Fit(draw("own"), size.Draw(t, "outside"), others...)
		if f.Reason() == "" || (f.Setting() == "") != (f.Most == 0) {
			t.Errorf("%+v", f)
		}
		if f.Most > 0 && f.Most+f.Outside+f.Margin > c.Limit {
			t.Errorf("%d do not fit: %+v", f.Most, f)
		}
		if f.Most > 0 && f.Fits != f.Most || f.Fits > 0 && f.Fits+f.Outside+f.Margin > c.Limit {
			t.Errorf("%d fit, at most %d: %+v", f.Fits, f.Most, f)
		}
		if len(others) == 0 && f.Most > 0 && f.Breaks(f.Most) {
			t.Errorf("what is advised breaks: %+v", f)
		}
	})
}
