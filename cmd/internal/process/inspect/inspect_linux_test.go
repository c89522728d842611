package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// nobody is a user that owns nothing.
const nobody = 65534

func needTHP(t *testing.T) {
	t.Helper()
	if page.HugeSize() == 0 {
		testenv.Missing(t, "no transparent huge pages")
	}
	if err := feature.Have(feature.PagemapScan); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

func TestProcess(t *testing.T) {
	needTHP(t)
	pid := target(t, 0)
	s := New()
	p, err := s.Process(pid, Options{Bloat: true, FaultTime: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if p.IsGo == nil || !*p.IsGo || p.GoVersion != runtime.Version() || p.Module != "github.com/foliomem/folio/cmd" {
		t.Errorf("go %v %q %q", p.IsGo, p.GoVersion, p.Module)
	}
	if p.UID == nil || *p.UID != os.Getuid() || p.Name != "exe" && p.Name != "inspect.test" || len(p.Command) == 0 {
		t.Errorf("uid %v, name %q, command %q", p.UID, p.Name, p.Command)
	}
	if len(p.Notes) > 0 {
		t.Errorf("notes: %q", p.Notes)
	}
	heap := kind(p, GoHeap)
	if heap.Resident < heapBytes || heap.Resident > 2*heapBytes || p.Of != GoHeap {
		t.Errorf("heap: %+v", heap)
	}
	if kind(p, Stack).Resident == 0 || kind(p, File).Resident == 0 || kind(p, Anonymous).Resident == 0 {
		t.Errorf("%+v", p.Memory)
	}
	var sum uint64
	for _, m := range p.Memory {
		sum += m.Resident
	}
	// The kernel counts in batches for each thread.
	if got := *p.Resident; sum < got-got/10 || sum > got+got/10 {
		t.Errorf("%d bytes by kind, %d in all", sum, got)
	}
	// What folio doctor goes by is in another file of the kernel: it says the same.
	rollup, err := s.FS.SmapsRollup(pid)
	if err != nil {
		t.Fatal(err)
	}
	const moved = 4 << 20 // the target's runtime is not quite at rest
	near := func(a, b uint64) bool { return max(a, b)-min(a, b) <= moved }
	if p.Anonymous == nil || !near(*p.Anonymous, *rollup.Anonymous) || !near(*p.AnonymousHuge, *rollup.AnonHugePages) {
		t.Errorf("anonymous %v, %v huge; smaps_rollup has %d, %d", p.Anonymous, p.AnonymousHuge, *rollup.Anonymous, *rollup.AnonHugePages)
	}
	w := p.Windows
	if w == nil {
		t.Fatal("no windows")
	}
	// At its ends and where it was grown the heap has parts of windows.
	least := heapBytes/page.HugeSize() - 2
	if w.Dense+w.Huge < least || w.Gain+w.HugeSize < uint64(least*page.HugeSize()) || w.Size != uint64(page.HugeSize()) {
		t.Errorf("windows: %+v", *w)
	}
	if n := w.Huge + w.Dense + w.Sparse + w.OptedOut; n != w.Count {
		t.Errorf("%d of %d windows: %+v", n, w.Count, *w)
	}
	if p.Faults == nil || p.Faults.Over <= 0 {
		t.Errorf("faults: %+v", p.Faults)
	}
	if p.Policy.Allowed == nil || p.Policy.Advised == nil || p.Policy.System.Enabled.Selected == "" {
		t.Errorf("policy: %+v", p.Policy)
	}
}

// Of a large process smaps is not read, for which its threads would wait: what only smaps
// says is not known, and not 0.
func TestLarge(t *testing.T) {
	if err := feature.Have(feature.PagemapScan); err != nil {
		testenv.Missing(t, "%v", err)
	}
	pid := target(t, 0, "INSPECT_TEST_MORE_MIB="+strconv.Itoa(smapsMost>>20))
	w := New().Watch(pid, Options{})
	defer w.Close()
	p, err := w.Look()
	if err != nil {
		t.Fatal(err)
	}
	if p.Policy.Advised != nil || p.Policy.Against != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "folio doctor "+strconv.Itoa(pid)) {
		t.Errorf("%+v, %q", p.Policy, p.Notes)
	}
	if p.Windows == nil || p.Windows.Dense+p.Windows.Huge == 0 || kind(p, Anonymous).Resident < smapsMost || kind(p, File).Resident == 0 {
		t.Errorf("%+v, %+v", p.Windows, p.Memory)
	}
	smaps := func(p *Process) bool {
		return slices.ContainsFunc(p.Waterfall.Readings, func(r waterfall.Reading) bool { return strings.HasPrefix(r.What, "smaps") })
	}
	again, err := w.Read()
	if err != nil || smaps(p) || smaps(again) || !slices.Equal(again.Notes, p.Notes) {
		t.Errorf("%v, %+v, %+v, %q", err, p.Waterfall.Readings, again.Waterfall.Readings, again.Notes)
	}
	// An older kernel has nothing but smaps.
	old := New()
	old.FS = old.FS.BySmaps()
	if p, err := old.Process(pid, Options{Waterfall: true}); err != nil || p.Policy.Against == nil || len(p.Notes) != 0 || !smaps(p) {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestWaterfall: the parts add up to RSS, and a program without a runtime has some too.
func TestWaterfall(t *testing.T) {
	s := New()
	p, err := s.Process(target(t, 0), Options{Waterfall: true})
	if err != nil || p.Waterfall == nil {
		t.Fatalf("%+v, %v", p, err)
	}
	sum := int64(0)
	for _, part := range p.Waterfall.Parts {
		sum += part.Bytes
	}
	w := p.Waterfall
	if objects := w.Part(waterfall.Live).Bytes + w.Part(waterfall.Since).Bytes; sum != int64(w.RSS) || objects < heapBytes || objects > 2*heapBytes {
		t.Errorf("parts %d, RSS %d, objects %d", sum, w.RSS, objects)
	}
	if len(p.Notes) > 0 || w.Part(waterfall.Heap).Bytes != 0 {
		t.Errorf("%+v, %v", w.Parts, p.Notes)
	}
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	testenv.Eventually(t, "its memory", func() bool {
		p, err := s.Process(cmd.Process.Pid, Options{Waterfall: true})
		return err == nil && p.Waterfall != nil && p.Waterfall.Part(waterfall.Text).Bytes > 0 && p.Waterfall.Part(waterfall.Live).Runtime == nil
	})
}

// TestWatcher: what is read again is what a look sees, of the same process.
func TestWatcher(t *testing.T) {
	s := New()
	var w *Watcher
	t.Run("runs", func(t *testing.T) { // the process ends with it
		w = s.Watch(target(t, 0), Options{})
		first, err := w.Read()
		if err != nil || first.Waterfall == nil || first.Waterfall.GC == nil || first.Memory == nil || first.Faults != nil {
			t.Fatalf("%+v, %v", first, err)
		}
		for range 3 {
			p, err := w.Read()
			if err != nil || p.Waterfall == nil || p.Waterfall == first.Waterfall || p.Windows != first.Windows ||
				p.Faults == nil || p.Faults.Over <= 0 || len(p.Notes) > 0 {
				t.Fatalf("%+v, %v", p, err)
			}
			if got := p.Waterfall.Part(waterfall.Live).Bytes + p.Waterfall.Part(waterfall.Since).Bytes; got < heapBytes {
				t.Errorf("%d bytes of objects", got)
			}
		}
		if p, err := w.Look(); err != nil || p.Windows == first.Windows || p.Faults == nil {
			t.Errorf("%+v, %v", p, err)
		}
	})
	defer w.Close()
	if _, err := w.Read(); !errors.Is(err, procmem.ErrNoProcess) {
		t.Errorf("it has ended: %v", err)
	}
}

func kind(p *Process, k Kind) Memory {
	for _, m := range p.Memory {
		if m.Kind == k {
			return m
		}
	}
	return Memory{}
}

// TestBloatIsSeen makes huge pages of memory of which an eighth is used.
func TestBloatIsSeen(t *testing.T) {
	needTHP(t)
	if err := page.Allowed(page.THP, 0); err != nil {
		testenv.Missing(t, "%v", err)
	}
	size := page.HugeSize()
	m, err := page.Map(8*size, &page.Options{Kind: page.THP})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b := m.Bytes()
	for w := 0; w < len(b); w += size {
		for off := 0; off < size/8; off += page.Size() {
			b[w+off] = 1
		}
	}
	p, err := page.OpenProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	windows, cut, err := Scan(p, []page.Range{m.Range()})
	if err != nil || cut != 0 {
		t.Fatalf("cut %d, %v", cut, err)
	}
	sum := Summarize(windows, cut, MinDensity, nil)
	if sum.Huge == 0 {
		testenv.Missing(t, "the kernel had no huge page: %+v", sum)
	}
	got, err := BloatOf(p, windows, readAtMost)
	if err != nil || got.Most != uint64(sum.Huge)*uint64(size)/8*7 || got.Read != sum.Huge || got.Pages != sum.Huge {
		t.Errorf("%+v, %v, of %+v", got, err, sum)
	}
}

func TestOptedOut(t *testing.T) {
	needTHP(t)
	pid := target(t, 0, "INSPECT_TEST_OFF=1")
	p, err := New().Process(pid, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Policy.Allowed == nil || *p.Policy.Allowed ||
		!strings.Contains(strings.Join(p.Hazards, "\n"), "Transparent huge pages are off for this process") {
		t.Errorf("%+v, hazards %q", p.Policy, p.Hazards)
	}
	if p.Windows == nil || p.Windows.Gain != 0 || p.Windows.OptedOut == 0 {
		t.Errorf("%+v", p.Windows)
	}
	l, err := New().List(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range l.Rows {
		if r.PID == pid && r.Windows.Gain != 0 {
			t.Errorf("%+v", r)
		}
	}
}

func observe(t *testing.T, pid, uid int) (o observed) {
	t.Helper()
	cmd := role("observer", uid, "INSPECT_TEST_PID="+strconv.Itoa(pid))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	return o
}

// TestUnprivileged: one's own processes can be seen, and of others it is said what
// could not be.
func TestUnprivileged(t *testing.T) {
	needTHP(t)
	testenv.Root(t, "to become somebody else")
	mine, others := target(t, nobody), target(t, 0)
	o := observe(t, mine, nobody)
	if o.Process.Windows == nil || o.Process.Windows.Gain+o.Process.Windows.HugeSize < heapBytes/2 ||
		o.Process.GoVersion != runtime.Version() || len(o.Process.Notes) > 0 {
		t.Errorf("one's own: %+v", o.Process)
	}
	if w := o.Process.Waterfall; w == nil || w.Part(waterfall.Live).Bytes+w.Part(waterfall.Since).Bytes < heapBytes {
		t.Errorf("one's own: %+v", w)
	}
	if i := slices.IndexFunc(o.List.Rows, func(r Row) bool { return r.PID == mine }); i < 0 || o.List.Rows[i].GoVersion != runtime.Version() {
		t.Errorf("not in the list: %+v", o.List)
	}
	if o.List.Denied == 0 || o.List.DeniedBytes < heapBytes || slices.ContainsFunc(o.List.Rows, func(r Row) bool { return r.PID == others }) {
		t.Errorf("others: %+v", o.List)
	}
	o = observe(t, others, nobody)
	if o.Process.Windows != nil || o.Process.Memory != nil || o.Process.IsGo != nil || o.Process.Resident == nil ||
		strings.Count(strings.Join(o.Process.Notes, "\n"), "parts") != 1 || o.Process.Waterfall != nil ||
		!strings.Contains(strings.Join(o.Process.Notes, "\n"), "CAP_SYS_PTRACE") {
		t.Errorf("another's: %+v", o.Process)
	}
}

func TestList(t *testing.T) {
	needTHP(t)
	pid := target(t, 0)
	l, err := New().List(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(l.Rows, func(r Row) bool { return r.PID == pid })
	if i < 0 {
		t.Fatalf("not in the list: %+v", l)
	}
	if r := l.Rows[i]; r.GoVersion != runtime.Version() || r.Windows.Gain+r.Windows.HugeSize < heapBytes/2 || r.Resident < heapBytes {
		t.Errorf("%+v", r)
	}
	if !slices.IsSortedFunc(l.Rows, func(a, b Row) int { return cmp.Compare(b.Windows.Gain, a.Windows.Gain) }) {
		t.Error("not sorted by gain")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New().List(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestOtherPrograms(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err) // no such program
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	s := New()
	p, err := s.Process(cmd.Process.Pid, Options{})
	if err != nil || p.IsGo == nil || *p.IsGo || p.Of != Anonymous {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := s.Areas(cmd.Process.Pid, false); !errors.Is(err, ErrNotGo) {
		t.Errorf("Areas: %v", err)
	}
	// It begins with nothing but its file.
	for end := time.Now().Add(testenv.Patience); ; time.Sleep(time.Millisecond) {
		r, err := s.Areas(cmd.Process.Pid, true)
		if err == nil && len(r) > 0 {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("Areas of all: %v, %v", r, err)
		}
	}
	if _, err := s.Process(1<<30, Options{}); !errors.Is(err, procmem.ErrNoProcess) {
		t.Errorf("nobody: %v", err)
	}
}

// A process that is ending has no memory any more. It is not taken for a thread of the
// kernel, and counts as ended.
func TestEnding(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "proc/9"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := New()
	s.FS = procmem.New(dir)
	write := func(file, text string) {
		if err := os.WriteFile(filepath.Join(dir, "proc/9", file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stat := func(state string, flags int) {
		write("stat", fmt.Sprintf("9 (x) %s 1 9 9 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 5\n", state, flags))
	}
	for _, c := range []struct {
		name, state string
		flags       int
		status      string
		ended       bool
		want        string
	}{
		{"ending", "R", 0x40000c, "", true, "it is ending: its memory has been freed"},
		{"a zombie", "Z", 0x40000c, "", true, "it is ending: its memory has been freed"},
		{"ending, after its status was read", "R", 0x40000c, "VmRSS:\t 100 kB\n", true,
			"it is ending: its memory has been freed"},
		{"of the kernel", "S", 0x208040, "", false, "a thread of the kernel: it has no memory of its own"},
	} {
		stat(c.state, c.flags)
		write("status", "Name:\tx\nTgid:\t9\nPid:\t9\n"+c.status)
		write("smaps", "")
		if _, err := s.Process(9, Options{}); err == nil || err.Error() != c.want || errors.Is(err, procmem.ErrNoProcess) != c.ended {
			t.Errorf("%s: %v\nwant %s, ended: %t", c.name, err, c.want, c.ended)
		}
		if err := s.Check(9); c.status == "" && (err == nil || err.Error() != c.want || errors.Is(err, procmem.ErrNoProcess) != c.ended) {
			t.Errorf("%s, checked: %v", c.name, err)
		}
	}
	// It ends while page faults are counted.
	stat("S", 0x400000)
	write("smaps", "00400000-00401000 r--p 00000000 00:00 0\nSize: 4 kB\nRss: 4 kB\n")
	_, err := s.Process(9, Options{FaultTime: time.Millisecond, Sleep: func(time.Duration) { stat("Z", 0x40000c) }})
	if !errors.Is(err, procmem.ErrNoProcess) {
		t.Errorf("ended while it was looked at: %v", err)
	}
}

func TestPrograms(t *testing.T) {
	s := New()
	for range 2 {
		version, module, isGo, err := s.Program(os.Getpid())
		if err != nil || !isGo || version != runtime.Version() || module != "github.com/foliomem/folio/cmd" {
			t.Errorf("%q, %q, %v, %v", version, module, isGo, err)
		}
	}
	if len(s.programs) != 1 {
		t.Errorf("%d programs are remembered", len(s.programs))
	}
}

// TestStripped: what names variables is not advised where nothing does.
func TestStripped(t *testing.T) {
	const source = `package main

import "os"

var big [64 << 20]byte

func main() {
	for i := 0; i < len(big); i += 4096 {
		big[i] = 1
	}
	os.Stdout.WriteString("ready\n")
	os.Stdin.Read(big[:1])
}
`
	for flags, want := range map[string]string{"-ldflags=": "/exe | head", "-ldflags=-s -w": "PROGRAM | head"} {
		cmd := exec.Command(testenv.Build{Source: testenv.Module(source), Args: []string{flags}}.Do(t))
		in, out := testenv.Start(t, cmd)
		t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
		if line, err := out.ReadString('\n'); err != nil {
			t.Fatalf("%q, %v", line, err)
		}
		p, err := New().Process(cmd.Process.Pid, Options{Waterfall: true})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(p.Remedies.List, func(m remedy.Remedy) bool { return m.Rule == "program-variables" })
		if i < 0 || !strings.HasSuffix(p.Remedies.List[i].Code, want) {
			t.Errorf("%s: %+v", flags, p.Remedies)
		}
	}
}

// A program without build information is Go all the same: it must not be called "not Go" above the
// parts of its Go heap.
func TestNoBuildInfo(t *testing.T) {
	path := testenv.Build{Source: testenv.CyclesSource(), Args: []string{"-ldflags=-s -w"}, Env: []string{"CGO_ENABLED=0"}}.Do(t)
	pid, _ := testenv.StartMetrics(t, testenv.WithoutBuildInfo(t, path), "mixed", "10")
	p, err := New().Process(pid, Options{Waterfall: true})
	if err != nil {
		t.Fatal(err)
	}
	if p.IsGo == nil || !*p.IsGo || p.GoVersion != runtime.Version() || p.Of != GoHeap || p.Waterfall == nil || p.Waterfall.Part(waterfall.Live).Bytes == 0 {
		t.Errorf("is Go: %v, version %q, windows of %v, %+v", p.IsGo, p.GoVersion, p.Of, p.Waterfall)
	}
}
