package trial

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

// roleEnv makes the test binary one of the programs in roles.
const roleEnv = "TRIAL_TEST_ROLE"

const mib = 1 << 20

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		testenv.Beside("4")
		os.Exit(m.Run())
	}
	role, ok := roles[os.Args[1]]
	if !ok {
		fmt.Fprintf(os.Stderr, "no role %q\n", os.Args[1])
		os.Exit(99)
	}
	if err := role(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	os.Exit(0)
}

// self returns the path of this test binary.
func self() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

// roleEnviron is what makes a role of the test binary. Processes that end under
// the race detector sleep for a second by default.
func roleEnviron(extra ...string) []string {
	return setenv(os.Environ(), append([]string{roleEnv + "=1", "GORACE=atexit_sleep_ms=0"}, extra...)...)
}

// A subject is a program and what its trials ask for.
type subject struct {
	Program
	Request
}

func (p *subject) Run(ctx context.Context, s Setting) (*Sample, error) {
	return p.Program.Run(ctx, s, p.Request)
}

// role returns a program that plays a role.
func role(words ...string) *subject {
	return &subject{Program: Program{Command: append([]string{self()}, words...), Env: roleEnviron(), IsGo: true}}
}

// roleCmd is a role outside of any trial.
func roleCmd(words ...string) *exec.Cmd {
	cmd := exec.Command(self(), words...)
	cmd.Env = roleEnviron()
	return cmd
}

// roleLine is a role as a word of shell scripts.
func roleLine(words ...string) string { return Setting{}.Line(append([]string{self()}, words...)) }

// shell returns a program that is a shell script. Roles work in it.
func shell(script string) *subject {
	return &subject{Program: Program{Command: []string{"sh", "-c", script}, Env: roleEnviron()}}
}

// run runs one trial and checks what holds of every trial: there is a sample,
// and nothing is left of the program.
func run(t *testing.T, p *subject, s Setting) *Sample {
	t.Helper()
	sample, err := p.Run(t.Context(), s)
	checkNoneLeft(t)
	if err != nil {
		t.Fatalf("%q: %v", p.Command, err)
	}
	checkSample(t, sample)
	return sample
}

func checkSample(t *testing.T, s *Sample) {
	t.Helper()
	if (s.ExitCode != nil) == (s.Signal != "") {
		t.Errorf("exit code %v and signal %q: one of them ended it", s.ExitCode, s.Signal)
	}
	if s.Wall < 0 || s.User < 0 || s.Sys < 0 || s.CPU != s.User+s.Sys || s.MinorFaults < 0 || s.MajorFaults < 0 {
		t.Errorf("implausible sample %+v", s)
	}
	if err := s.contradiction(); err != nil {
		t.Errorf("%v: %+v", err, s)
	}
	if s.PeakRSS != nil && s.PeakTreeRSS != nil && *s.PeakTreeRSS < *s.PeakRSS {
		t.Errorf("the tree's peak %v is below that of one process, %d", s.PeakTreeRSS, *s.PeakRSS)
	}
}

// runOK is for programs that must succeed.
func runOK(t *testing.T, p *subject, s Setting) *Sample {
	t.Helper()
	sample := run(t, p, s)
	if !sample.OK() || sample.ExitCode == nil || *sample.ExitCode != 0 {
		t.Fatalf("%q: %s\n%s", p.Command, sample.Failure, sample.Tail)
	}
	return sample
}

// runOverdue runs a program that prints begun as soon as it is as the test wants it, and
// then goes on. Its time is d, and more where that was not enough to begin.
func runOverdue(t *testing.T, p *subject, d time.Duration, begun string) *Sample {
	t.Helper()
	for p.Timeout = d; ; p.Timeout *= 2 {
		if s := run(t, p, Setting{}); strings.Contains(s.Tail, begun) || p.Timeout > testenv.Patience {
			return s
		}
	}
}

// checkNoneLeft checks that this process has no descendant, not even a dead one, but what
// guards the cgroups that it may make.
func checkNoneLeft(t *testing.T) {
	t.Helper()
	pids, err := procmem.FS{}.Descendants(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	pids = slices.DeleteFunc(pids, func(pid int) bool {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return bytes.Contains(command, []byte("\x00folio-guard\x00"))
	})
	for _, pid := range pids {
		st, _ := procmem.FS{}.Stat(pid)
		t.Errorf("process %d (%s, state %c, parent %d) is left", pid, st.Comm, st.State, st.PPID)
	}
	if len(pids) > 0 { // it must not spoil the next test
		EndAll()
	}
}

// livingBelow returns the descendants of this process that are not dead.
func livingBelow(t *testing.T) []int {
	t.Helper()
	_, living := (&family{}).look()
	return living
}

// A trigger is a writer that calls f once, when the text was written to it.
type trigger struct {
	text string
	f    func()

	mu   sync.Mutex
	once sync.Once
	seen bytes.Buffer
}

func onOutput(text string, f func()) *trigger { return &trigger{text: text, f: f} }

func (w *trigger) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Write(p)
	if strings.Contains(w.seen.String(), w.text) {
		w.once.Do(w.f)
	}
	return len(p), nil
}

// runUntil runs a trial and cancels it when the program has said "ready".
func runUntil(t *testing.T, p *subject) (*Sample, error) {
	t.Helper()
	return runUntilText(t, p, "ready")
}

func runUntilText(t *testing.T, p *subject, text string) (*Sample, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.Stdout = onOutput(text, cancel)
	s, err := p.Run(ctx, Setting{})
	checkNoneLeft(t)
	return s, err
}

// marker returns the path of a file that a program makes to say how far it is.
func marker(t *testing.T) string { return filepath.Join(t.TempDir(), "marker") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// touch makes n MiB of fresh memory resident, in base pages or, with huge set,
// in huge pages where the system has them.
func touch(n int, huge bool) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	const align = 2 * mib
	mem, err := unix.Mmap(-1, 0, n*mib+align, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w", err)
	}
	advice := unix.MADV_NOHUGEPAGE
	if huge {
		advice = unix.MADV_HUGEPAGE
	}
	_ = unix.Madvise(mem, advice) // a kernel without huge pages gives base pages in any case
	mem = mem[alignUp(mem, align):][:n*mib]
	for off := 0; off < len(mem); off += os.Getpagesize() {
		mem[off] = 1
	}
	return mem, nil
}

// drain reads lines of r until one has the prefix, and returns the rest of that.
func drain(r io.ByteReader, prefix string) (string, error) {
	var line []byte
	for {
		c, err := r.ReadByte()
		if err != nil {
			return "", fmt.Errorf("wait for %q, last %q: %w", prefix, line, err)
		}
		if c != '\n' {
			line = append(line, c)
			continue
		}
		if rest, ok := strings.CutPrefix(string(line), prefix); ok {
			return strings.TrimSpace(rest), nil
		}
		line = line[:0]
	}
}
