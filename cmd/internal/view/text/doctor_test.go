package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/procmem"
)

// sickFacts are of a machine and a Go process with a hazard of each severity,
// and with facts that could not be read.
func sickFacts() *diagnose.Facts {
	denied := errors.New("open /proc/4242/smaps: permission denied")
	vm := procmem.Vmstat{"compact_stall": 7, "thp_fault_fallback": 0, "thp_fault_alloc": 0, "thp_split_pmd": 0, "pswpin": 0}
	f := &diagnose.Facts{PageBytes: 4096, Watched: time.Second}
	f.Release.Value = procmem.Release{Text: "6.18.0", Major: 6, Minor: 18}
	f.THP.Value = procmem.THP{
		Present: true, HugePageBytes: new(uint64(2 << 20)), MaxPtesNone: new(511),
		Enabled: procmem.Choice{Selected: "madvise", Options: []string{"always", "madvise", "never"}},
		Defrag:  procmem.Choice{Selected: "madvise", Options: []string{"always", "defer", "defer+madvise", "madvise", "never"}},
	}
	f.Meminfo.Value = procmem.Meminfo{MemTotal: new(uint64(16 << 30)), SwapTotal: new(uint64(0)), SwapFree: new(uint64(0))}
	f.Vmstat.Value = diagnose.BeforeAfter[procmem.Vmstat]{Before: vm, After: vm}
	f.Free.Err = errors.New("open /proc/buddyinfo: no such file or directory")
	f.Pressure.Err = errors.New("the kernel keeps no memory pressure (CONFIG_PSI, or psi=1 on its command line)")
	f.Groups.Value = []diagnose.Group{{Dir: "/sys/fs/cgroup/system.slice/orders.service",
		GroupMemory: procmem.GroupMemory{Limit: new(uint64(2 << 30)), Usage: new(uint64(1 << 30))}}}
	p := &diagnose.Process{PID: 4242, Comm: "orders", Command: []string{"/usr/bin/orders", "--listen", ":8080"}}
	p.Status.Value = procmem.Status{VmSwap: new(uint64(0)), THPEnabled: new(false), RssAnon: new(uint64(170 << 20))}
	p.Rollup.Value = procmem.SmapsRollup{Anonymous: new(uint64(170 << 20)), AnonHugePages: new(uint64(0)),
		LazyFree: new(uint64(0)), PssAnon: new(uint64(170 << 20))}
	p.Advice.Err = denied
	p.GoVersion.Value = "go1.26.8"
	s := goruntime.State{Cycles: 12, Percent: new(100), Limit: new(int64(1<<63 - 1)), Marked: new(uint64(80 << 20)),
		Held: new(uint64(170 << 20)), Stacks: new(uint64(1 << 20))}
	p.Runtime.Value.Before, p.Runtime.Value.After, p.Runtime.Value.Live = s, s, s.Marked
	f.Process = p
	return f
}

// doctorText is the text of a saved diagnosis.
func doctorText(t *testing.T, f *result.Doctor, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := show(&b, savedAgain(t, f), Options{Full: true, Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDoctorText(t *testing.T) {
	f := sickFacts()
	file := doctorFile(f, f.Diagnose())
	file.Host = testHost()
	text := doctorText(t, file, 0)
	golden(t, "doctor.txt", []byte(text))
	var b bytes.Buffer
	if err := show(&b, file, Options{Full: true, Width: 0}); err != nil || b.String() != text {
		t.Errorf("the saved diagnosis has another text, %v", err)
	}
	for _, width := range []int{60, 80, 120} {
		for _, l := range strings.Split(doctorText(t, file, width), "\n") {
			// What is to be pasted, and single words, are not broken.
			code := strings.HasPrefix(l, "    ")
			if n := utf8.RuneCountInString(l); n > width && !code && strings.Count(strings.TrimSpace(l), " ") > 2 {
				t.Errorf("width %d: %d columns: %s", width, n, l)
			}
		}
	}
}

func TestDoctorJSON(t *testing.T) {
	f := sickFacts()
	file := doctorFile(f, f.Diagnose())
	file.Folio, file.Host, file.Created = "v0.1.0", testHost(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	data, err := file.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "doctor.json", data)
	// Nothing found is an empty list, and no process null.
	f = &diagnose.Facts{}
	data, err = doctorFile(f, diagnose.Diagnosis{}).JSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if v, ok := doc["findings"].([]any); !ok || len(v) != 0 || doc["process"] != nil || doc["schema"] != "folio-doctor/1" {
		t.Errorf("%s", data)
	}
}

func TestDoctorSum(t *testing.T) {
	f := sickFacts()
	sum := func(skip ...string) string {
		t.Helper()
		text := doctorText(t, doctorFile(f, f.Diagnose(skip...)), 1000)
		for l := range strings.SplitSeq(text, "\n") {
			if strings.Contains(l, " checks: ") {
				return l
			}
		}
		return text
	}
	check := func(got, want string) {
		t.Helper()
		if !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check(sum(), "checks: 1 problem, 1 warning, 1 note; 5 could not be checked.")
	check(sum("thp-disabled", "go-no-memory-limit", "max-ptes-none"), "checks: nothing found; 5 could not be checked; 3 skipped.")
	f.Process.GoVersion.Value = ""
	check(sum("thp-disabled", "max-ptes-none"), "19 checks: nothing found; 5 could not be checked; 2 skipped; 14 are for Go programs.")
	f.Process = nil
	check(sum("max-ptes-none"), "13 checks: nothing found; 2 could not be checked; 1 skipped; 24 are for a process: folio doctor PID.")
}

func TestDoctorList(t *testing.T) {
	var b bytes.Buffer
	if err := Render(&b, document.Checks(diagnose.Rules()), Options{Full: true, Width: 80}); err != nil {
		t.Fatal(err)
	}
	for _, r := range diagnose.Rules() {
		if !strings.Contains(b.String(), "  "+r.ID+": "+string(r.Severity)) || !strings.Contains(b.String(), r.Title) {
			t.Errorf("no %s", r.ID)
		}
	}
	for _, want := range []string{"\nThe machine\n", "\nThe container (memory cgroup)\n", "\nA process\n", "\nA Go program\n"} {
		if strings.Count(b.String(), want) != 1 {
			t.Errorf("%q is there %d times", want, strings.Count(b.String(), want))
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 9, "> one two|. three"},
		{"one", 2, "> one"},
		{"a-very-long-word and more", 8, "> a-very-long-word|. and|. more"},
		{"", 8, ">"},
		{"µµµ µµµ", 9, "> µµµ µµµ"},
	} {
		if got := strings.Join(console.Wrap("> ", ". ", tt.text, tt.width), "|"); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func doctorFile(f *diagnose.Facts, d diagnose.Diagnosis) *result.Doctor {
	out := result.NewDoctor("", f, d)
	out.Created = time.Time{}
	return out
}

// What was not permitted is said in one line, with the reason and the command.
func TestDoctorDenied(t *testing.T) {
	f := sickFacts()
	file := doctorFile(f, f.Diagnose())
	text := doctorText(t, file, 1000)
	if strings.Contains(text, "Not permitted") {
		t.Errorf("all was permitted: %s", text)
	}
	pid := file.Process.PID
	denied := "whether it is a Go program is not known: open /proc/1/exe: permission denied: it belongs to user 0, and folio runs as user 65534: " + procmem.Needs("sys_ptrace")
	refused := "open /proc/1/smaps: permission denied: " + procmem.Refuses
	set := func(why string) {
		for i := range file.Checks {
			if c := &file.Checks[i]; c.State == "not_checked" {
				c.Why = &why
			}
		}
	}
	set(denied)
	want := fmt.Sprintf("1 note. Not permitted: 5 checks, because process %d belongs to user 0, and folio runs as user 65534. As root: sudo folio doctor %[1]d\n", pid)
	if text := doctorText(t, file, 1000); !strings.Contains(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
	set(refused)
	if text, want := doctorText(t, file, 1000), "1 note. Not permitted: 5 checks: refused although folio has the capabilities it needs: "; !strings.Contains(text, want) {
		t.Errorf("%s, want %s", text, want)
	}
}
