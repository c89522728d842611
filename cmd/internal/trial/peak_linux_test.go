package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/perf"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// ownPeak touches so many KiB, sleeps so many ms, and prints the kernel's account of
// itself as its last act: peak RSS in KiB and page faults.
const ownPeak = `
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char **argv) {
	long kib = atol(argv[1]);
	char *p = mmap(0, kib * 1024 + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (long i = 0; i < kib * 1024; i += 4096)
		p[i] = 1;
	usleep(atol(argv[2]) * 1000);
	char line[200];
	struct rusage r;
	snprintf(line, sizeof line, "maxrss %ld\nminflt %ld\n", 1L, 1L); // touches what it takes
	getrusage(RUSAGE_SELF, &r);
	int n = snprintf(line, sizeof line, "maxrss %ld\nminflt %ld\n", r.ru_maxrss, r.ru_minflt);
	write(1, line, n);
	_exit(0);
}
`

// compileStatic compiles a C program that is as small as programs are.
func compileStatic(t *testing.T, source string) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		testenv.Missing(t, "no gcc")
	}
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command(cc, "-O1", "-static", "-x", "c", "-o", path, "-")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

func needStub(t *testing.T) {
	t.Helper()
	p, _, err := prepare([]string{"true"}, nil, "", THPSystem, []*os.File{os.Stdin, os.Stdout, os.Stderr}, nil, heapChange{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abort()
	if _, ok := p.PID(); !ok {
		testenv.Missing(t, "programs are forked on this system")
	}
}

// The peak RSS of a program is what it has itself, be it far smaller than folio, and
// over in a millisecond.
func TestPeakRSSOfSmallPrograms(t *testing.T) {
	needStub(t)
	large, err := touch(100, false)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Madvise(large, unix.MADV_DONTNEED)
	program := compileStatic(t, ownPeak)
	// The kernel counts the pages of each processor in batches, so that a page can
	// show as many; as a rule none does.
	page := uint64(os.Getpagesize())
	few, batches := 4*page, uint64(4*max(32, 2*runtime.NumCPU()))*page
	for _, kib := range []int{0, 400, 2000, 20000} {
		equal := false
		for range 5 {
			var out bytes.Buffer
			s := runOK(t, &subject{Program: Program{Command: []string{program, fmt.Sprint(kib), "0"}, Stdout: &out}}, Setting{})
			own, faults := said(t, out.String(), "maxrss")<<10, int64(said(t, out.String(), "minflt"))
			if s.PeakRSS == nil || s.PeakRSSSource != Kernel || *s.PeakRSS < own || *s.PeakRSS > own+batches || *s.PeakRSS > uint64(kib+2000)<<10 {
				t.Errorf("%d KiB touched: the peak is %v MiB (%s), the program says %v", kib, mibOf(s.PeakRSS), s.PeakRSSSource, mibOf(&own))
				continue
			}
			equal = equal || *s.PeakRSS <= own+few
			if s.PeakTreeRSS == nil || *s.PeakTreeRSS != *s.PeakRSS || s.PeakTreeRSSSource != Kernel || s.PeakTreeRSSLooks != 0 {
				t.Errorf("of one process the peak is %v MiB, of all together %v (%s)", mibOf(s.PeakRSS), mibOf(s.PeakTreeRSS), s.PeakTreeRSSSource)
			}
			// What the stub took is not the program's; to end takes a few.
			if s.MinorFaults > faults+6 || s.MinorFaults < faults-6 {
				t.Errorf("%d page faults, the program says %d", s.MinorFaults, faults)
			}
		}
		if !equal {
			t.Errorf("%d KiB touched: no peak equals what the program says, to within %d bytes", kib, few)
		}
	}
}

// Of several processes the largest is known as well, wherever it is in the tree. What
// they had together is sampled.
func TestPeakRSSOfTrees(t *testing.T) {
	needStub(t)
	program := compileStatic(t, ownPeak)
	r := roleEnviron()
	for name, script := range map[string]string{
		"one after the other": "P 3000 0; P 9000 0; P 100 0; :",
		"at once":             "P 3000 30 & P 9000 30 & wait",
		"pipe":                "P 9000 0 | cat; :",
		"grandchild":          "sh -c 'P 9000 0; :'; :",
		"orphan":              "(P 9000 20 &) | cat; :",
		"left behind":         "P 9000 0; sleep 1000 & :",
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &subject{Program: Program{Command: []string{"sh", "-c", strings.ReplaceAll(script, "P ", Quote(program)+" ")}, Env: r, Stdout: &out}}
			s := runOK(t, p, Setting{})
			var own uint64
			for line := range strings.Lines(out.String()) {
				var n uint64
				if _, err := fmt.Sscanf(line, "maxrss %d", &n); err == nil {
					own = max(own, n<<10)
				}
			}
			batches := uint64(4*max(32, 2*runtime.NumCPU())) * uint64(os.Getpagesize())
			if own < 9000<<10 || s.PeakRSS == nil || *s.PeakRSS < own || *s.PeakRSS > own+batches || s.PeakRSSSource != Kernel {
				t.Errorf("the peak of the largest is %v MiB (%s), it says %v", mibOf(s.PeakRSS), s.PeakRSSSource, mibOf(&own))
			}
			if s.PeakTreeRSS != nil && (s.PeakTreeRSSSource != Sampled || *s.PeakTreeRSS < *s.PeakRSS || s.PeakTreeRSSLooks < 1) {
				t.Errorf("the peak of all together is %v MiB, %s, in %d looks", mibOf(s.PeakTreeRSS), s.PeakTreeRSSSource, s.PeakTreeRSSLooks)
			}
		})
	}
}

// Children are in no account where SIGCHLD is ignored: then the peak of the tree is not
// known to be that of the program.
func TestPeakRSSWithoutAccounts(t *testing.T) {
	s := runOK(t, role("unwaited"), Setting{})
	if s.PeakTreeRSSSource == Kernel {
		t.Errorf("the peak of all together is %v MiB by the kernel's account, which has no children", mibOf(s.PeakTreeRSS))
	}
	s = runOK(t, shell(":"), Setting{})
	if s.PeakTreeRSSSource != s.PeakRSSSource {
		t.Errorf("a shell without children: %q and %q", s.PeakRSSSource, s.PeakTreeRSSSource)
	}
}

// Where programs are forked, no figure of folio's own memory is taken for a program's:
// a peak is the kernel's, or was seen, or is not known.
func TestPeakRSSWithoutStub(t *testing.T) {
	testenv.Long(t)
	for _, s := range folioSamples(t, "big", "300", "fork") {
		switch {
		case s.PeakRSS == nil:
			if s.PeakRSSSource != "" {
				t.Errorf("no peak, by %q", s.PeakRSSSource)
			}
		case *s.PeakRSS > 290*mib:
			t.Errorf("a peak of %v MiB (%s)", mibOf(s.PeakRSS), s.PeakRSSSource)
		case s.PeakRSSSource != Sampled: // all are smaller than folio
			t.Errorf("the peak of a program smaller than folio is by %q", s.PeakRSSSource)
		}
	}
	forkOnly = true
	defer func() { forkOnly = false }()
	size := max(300, 2*ownHWM(procmem.FS{})/mib) // tests before this one may have taken much
	s := runOK(t, role("touch", fmt.Sprint(size), "0"), Setting{})
	if s.PeakRSS == nil || *s.PeakRSS < size*mib || s.PeakRSSSource != Kernel || s.PeakTreeRSSSource != Kernel {
		t.Errorf("a program larger than folio: %v MiB (%q), together %q", mibOf(s.PeakRSS), s.PeakRSSSource, s.PeakTreeRSSSource)
	}
	if s := runOK(t, role("huge", "0", "0"), Setting{THP: THPOff}); s.Failure != "" {
		t.Error(s.Failure)
	}
	if _, err := (&subject{Program: Program{Command: []string{"/proc/self/status"}}}).Run(t.Context(), Setting{}); err == nil {
		t.Error("a file that is not a program was started")
	}
	if perf.Check() == nil {
		p := role("burn", "300")
		p.Profile, p.Keep.Samples = testRate, true
		s := runOK(t, p, Setting{})
		checkWhere(t, s)
		if names := functions(t, s); !names["trial.burn"] {
			t.Errorf("trial.burn is not in %v", names)
		}
	}
}

// folioSamples runs a folio of its own, which prints its samples.
func folioSamples(t *testing.T, words ...string) (samples []*Sample) {
	t.Helper()
	var errOut bytes.Buffer
	cmd := roleCmd(append([]string{"folio"}, words...)...)
	cmd.Stderr = &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &errOut)
	}
	for dec := json.NewDecoder(&errOut); ; {
		s := &Sample{}
		if err := dec.Decode(s); err == io.EOF {
			return samples
		} else if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, s)
	}
}

// A user without privileges gets samples of the program, by the events that wait for
// its exec, and exact figures.
func TestUnprivileged(t *testing.T) {
	needStub(t)
	needSampling(t)
	out := asNobody(t, "folio", "sampled")
	s := decodeSample(t, out)
	if s.Profile == nil || s.Profile.Samples < 50 || s.PeakRSSSource != Kernel {
		t.Errorf("sampled %v, peak by %q: %s", s.Profile, s.PeakRSSSource, out)
	}
}

// The same user puts folio's own load on a server.
func TestUnprivilegedLoad(t *testing.T) {
	needStub(t)
	s := decodeSample(t, asNobody(t, "folio", "loaded"))
	if !s.OK() || s.Load == nil || s.Load.Intended != 20 || s.Load.Succeeded != 20 {
		t.Errorf("failure %q, load %+v", s.Failure, s.Load)
	}
}

// asNobody runs a role as a user without privileges, and returns its output.
func asNobody(t *testing.T, words ...string) []byte {
	t.Helper()
	testenv.Root(t, "to become somebody else")
	exe, err := os.ReadFile(self())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "unprivileged") // where others get to
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "folio")
	if err := os.WriteFile(path, exe, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, words...)
	cmd.Env, cmd.Dir = roleEnviron(), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65533, Gid: 65533}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}
