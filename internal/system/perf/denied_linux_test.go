package perf

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

// answer is what the roles below write: an error, and how large the rings are.
type answer struct {
	Cause     Cause
	Error     string
	RingBytes int
}

func write(s *Session, err error) error {
	var a answer
	if e, ok := errors.AsType[*Error](err); ok {
		a.Cause = e.Cause
	}
	if err != nil {
		a.Error = err.Error()
	}
	if s != nil {
		a.RingBytes = s.Info().RingBytes
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}

// deniedRole forbids itself perf_event_open as a container does, and tries.
func deniedRole([]string) error {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PERF_EVENT_OPEN, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0,
		0); err != nil { // Safety: prog outlives the call.
		return err
	}
	if err := Check(); err == nil {
		return errors.New("check finds nothing")
	}
	return write(OpenThread(0, Config{}))
}

// lockedRole opens two sessions where no memory may be locked but what perf
// events are given.
func lockedRole([]string) error {
	runtime.LockOSThread()
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{}); err != nil {
		return err
	}
	s, err := OpenThread(0, Config{RingBytes: 8 << 20})
	if err := write(s, err); err != nil || s == nil {
		return err
	}
	defer s.Close()
	two, err := OpenThread(0, Config{})
	if two != nil {
		defer two.Close()
	}
	return write(two, err)
}

// answers runs a role as somebody without privileges.
func answers(t *testing.T, role string) (list []answer) {
	t.Helper()
	needPerf(t)
	testenv.Root(t, "to become somebody else")
	cmd := roleCmd(role)
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65533, Gid: 65533}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var a answer
		if err := d.Decode(&a); err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return list
}

func TestSeccomp(t *testing.T) {
	got := answers(t, "denied")
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	level, _ := paranoid()
	if level <= 2 && (got[0].Cause != Denied || !strings.Contains(got[0].Error, "--cap-add PERFMON")) {
		t.Errorf("%+v: the error should name the seccomp filter", got[0])
	}
}

func TestLockedMemory(t *testing.T) {
	if level, _ := paranoid(); level > 2 {
		testenv.Missing(t, "perf_event_paranoid at most 2, it is %d", level)
	}
	got := answers(t, "locked")
	if len(got) == 0 || got[0].Error != "" || got[0].RingBytes >= 8<<20 || got[0].RingBytes < 8*os.Getpagesize() {
		t.Fatalf("%+v: the first session should have small rings", got)
	}
	if len(got) != 2 || got[1].Error == "" && got[1].RingBytes >= got[0].RingBytes ||
		got[1].Error != "" && (got[1].Cause != Memory || !strings.Contains(got[1].Error, "perf_event_mlock_kb")) {
		t.Errorf("%+v: the second session should have smaller rings, or fail with the reason", got)
	}
}
