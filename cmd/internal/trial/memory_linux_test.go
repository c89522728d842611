package trial

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// said returns the number that a role printed after a word.
func said(t *testing.T, out, word string) uint64 {
	t.Helper()
	for line := range strings.Lines(out) {
		if text, ok := strings.CutPrefix(line, word+" "); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %q in %q", word, out)
	return 0
}

func near(p *uint64, want, tolerance uint64) bool {
	return p != nil && *p+tolerance >= want && *p <= want+tolerance
}

func mibOf(p *uint64) any {
	if p == nil {
		return "unknown"
	}
	return float64(*p) / mib
}

func TestPeakRSS(t *testing.T) {
	var out bytes.Buffer
	p := role("touch", "200", "50")
	p.Stdout = &out
	s := runOK(t, p, Setting{})
	// The kernel's own mark is the measure: how much the rest of the program
	// takes depends on how it was built.
	hwm := said(t, out.String(), "hwm")
	if hwm < 200*mib {
		t.Fatalf("the program touched 200 MiB, and its mark is %d", hwm)
	}
	if !near(s.PeakRSS, hwm, 4*mib) || !near(s.PeakTreeRSS, hwm, 4*mib) {
		t.Errorf("peak %v MiB, of the tree %v; want %v", mibOf(s.PeakRSS), mibOf(s.PeakTreeRSS), mibOf(&hwm))
	}
}

// What two processes hold at once adds up.
func TestPeakTreeRSS(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	s := runOK(t, role("pair", "100", "500"), Setting{})
	if !near(s.PeakRSS, 140*mib, 40*mib) {
		t.Errorf("the larger of two processes with 100 MiB each has %v MiB", mibOf(s.PeakRSS))
	}
	if s.PeakTreeRSS == nil || *s.PeakTreeRSS < *s.PeakRSS+100*mib {
		t.Errorf("the two have %v MiB together, one %v", mibOf(s.PeakTreeRSS), mibOf(s.PeakRSS))
	}
	// One after the other they do not.
	s = runOK(t, shell(roleLine("touch", "100", "100")+"; "+roleLine("touch", "100", "100")), Setting{})
	if s.PeakTreeRSS == nil || s.PeakRSS == nil || *s.PeakTreeRSS > *s.PeakRSS+50*mib {
		t.Errorf("two processes one after the other have %v MiB together, one %v", mibOf(s.PeakTreeRSS), mibOf(s.PeakRSS))
	}
}

// The kernel starts a child's mark at the memory of the process that made it.
// A large folio must not make the programs look large.
func TestFoliosMemoryIsNotThePrograms(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	samples := folioSamples(t, "big", "300")
	if len(samples) != 3 {
		t.Fatalf("%d samples", len(samples))
	}
	if s := samples[0]; s.PeakRSS == nil || *s.PeakRSS > 30*mib {
		t.Errorf("a shell that does nothing has a peak of %v MiB", mibOf(s.PeakRSS))
	}
	if s := samples[1]; s.PeakRSS == nil || *s.PeakRSS > 30*mib || s.PeakTreeRSS == nil || *s.PeakTreeRSS > 60*mib {
		t.Errorf("a shell has a peak of %v MiB, its tree %v", mibOf(s.PeakRSS), mibOf(s.PeakTreeRSS))
	}
	if s := samples[2]; s.PeakRSS == nil || *s.PeakRSS < 200*mib || *s.PeakRSS > 290*mib {
		t.Errorf("a program that touched 200 MiB has a peak of %v MiB", mibOf(s.PeakRSS))
	}
}

func TestMinorFaults(t *testing.T) {
	pages := int64(64 * mib / procmem.FS{}.PageSize())
	none := runOK(t, role("touch", "0", "0"), Setting{})
	said := marker(t)
	if err := unix.Mkfifo(said, 0o600); err != nil {
		t.Fatal(err)
	}
	said = Quote(said)
	for name, p := range map[string]*subject{
		"itself":                role("touch", "64", "0"),
		"a child":               role("faults", "64", "child"),
		"an orphan":             role("faults", "64", "orphan"),
		"one that is left over": shell(roleLine("touch", "64", "60000") + " >" + said + " & read hwm <" + said),
	} {
		s := runOK(t, p, Setting{})
		if s.MinorFaults < pages {
			t.Errorf("%s: %d faults for %d pages", name, s.MinorFaults, pages)
		}
		if s.MinorFaults > pages+6*none.MinorFaults+3000 { // it starts a few processes
			t.Errorf("%s: %d faults for %d pages; a program that touches none has %d", name, s.MinorFaults, pages, none.MinorFaults)
		}
	}
}

func TestHugePages(t *testing.T) {
	if testenv.Apart(t) {
		return
	}
	huge := func(s Setting) (*Sample, string) {
		var out bytes.Buffer
		p := role("huge", "64", "400")
		p.Stdout = &out
		return runOK(t, p, s), out.String()
	}
	if before := thpEnabled(); before == "0" {
		testenv.Missing(t, "huge pages are turned off for this process")
	}
	checkEnabled := func(out, want string) {
		t.Helper()
		if thpEnabled() == "" {
			return // before Linux 5.0 the kernel does not tell
		}
		if !strings.Contains(out, "enabled "+want+"\n") {
			t.Errorf("the program says %q, want enabled %s", out, want)
		}
		if got := thpEnabled(); got != "1" {
			t.Errorf("this process has THP_enabled %s", got)
		}
	}

	off, out := huge(Setting{THP: THPOff})
	checkEnabled(out, "0")
	if off.HugePeak == nil || *off.HugePeak != 0 {
		t.Errorf("without huge pages the peak is %v MiB", mibOf(off.HugePeak))
	}
	// What holds for one program holds for its children, and for no other.
	var below bytes.Buffer
	p := shell(roleLine("huge", "0", "0") + "; :")
	p.Stdout = &below
	runOK(t, p, Setting{THP: THPOff})
	checkEnabled(below.String(), "0")

	on, out := huge(Setting{})
	checkEnabled(out, "1")
	if got := said(t, out, "huge"); got < 60*mib {
		t.Skipf("the system gave the program %d bytes on huge pages", got)
	}
	// The kernel keeps no mark of it, and folio looks rarely when the machine is
	// busy: a run in which it looked before the memory was touched proves nothing.
	for tries := 0; tries < 5 && !near(on.HugePeak, 64*mib, 4*mib); tries++ {
		on, _ = huge(Setting{})
	}
	if on.HugePeak == nil || *on.HugePeak < 60*mib {
		t.Errorf("the peak of 64 MiB on huge pages is %v MiB", mibOf(on.HugePeak))
	}
	if on.MinorFaults > off.MinorFaults-10000 {
		t.Errorf("%d faults with huge pages, %d without", on.MinorFaults, off.MinorFaults)
	}
}

// A program that cannot be started must not leave huge pages off.
func TestHugePagesAfterFailedStart(t *testing.T) {
	was, err := unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0)
	if err != nil {
		t.Skip(err)
	}
	if _, err := (&subject{Program: Program{Command: []string{"/proc/self/status"}}}).Run(t.Context(), Setting{THP: THPOff}); err == nil {
		t.Error("a file that is not a program was started")
	}
	now, err := unix.PrctlRetInt(unix.PR_GET_THP_DISABLE, 0, 0, 0, 0)
	if err != nil || now != was {
		t.Errorf("the flag was %d and is %d, %v", was, now, err)
	}
}
