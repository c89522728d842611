package trial

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

type heapNode struct {
	next *heapNode
	data [7]uint64
}

// roleHeap (MiB, s) grows a dense heap on base pages whatever the policy is, waits until
// half of it is on huge pages, and then for a time for those who watch.
func roleHeap(words []string) error {
	debug.SetGCPercent(-1) // garbage would leave holes
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	var head *heapNode
	want := uint64(number(words, 0)) * mib
	for i := range want / 64 {
		head = &heapNode{head, [7]uint64{i}}
	}
	if err := unix.Prctl(unix.PR_SET_THP_DISABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	for end := time.Now().Add(testenv.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		sm, err := procmem.FS{}.SmapsRollup(0)
		if err != nil {
			return err
		}
		if sm.AnonHugePages != nil && *sm.AnonHugePages >= want/2 {
			break
		}
	}
	time.Sleep(time.Duration(number(words, 1)) * time.Second)
	runtime.KeepAlive(head)
	return nil
}

func needCollapse(t *testing.T) {
	t.Helper()
	if err := MayCollapse(); err != nil {
		testenv.Missing(t, "%v", err)
	}
}

// TestCollapseFollowsTheChild, also one that a shell starts.
func TestCollapseFollowsTheChild(t *testing.T) {
	testenv.Long(t)
	needCollapse(t)
	for name, program := range map[string]func(seconds string) *subject{
		"the program itself": func(seconds string) *subject { return role("heap", "64", seconds) },
		"below a shell":      func(seconds string) *subject { return shell(roleLine("heap", "64", seconds) + "; true") },
	} {
		// Huge pages are counted now and then, on a slow machine seldom.
		var s *Sample
		for _, seconds := range []string{"1", "4", "16"} {
			if s = runOK(t, program(seconds), Setting{THP: THPCollapse}); s.HugePeak != nil && *s.HugePeak >= 32*mib {
				break
			}
		}
		if s.HugePeak == nil || *s.HugePeak < 32*mib {
			t.Errorf("%s: at most %v MiB were huge", name, mibOf(s.HugePeak))
		}
		if s.CollapsedBytes == nil || *s.CollapsedBytes < 32*mib || s.CollapseSeconds == nil || *s.CollapseSeconds <= 0 {
			t.Errorf("%s: folio says %v MiB", name, mibOf(s.CollapsedBytes))
		}
	}
	// Nobody does so unasked.
	if s := runOK(t, shell("true"), Setting{THP: THPOff}); s.CollapsedBytes != nil || s.CollapseSeconds != nil {
		t.Errorf("with huge pages off %v were collapsed", mibOf(s.CollapsedBytes))
	}
}

// A program that has nothing to collapse is not a failure.
func TestCollapseNothing(t *testing.T) {
	needCollapse(t)
	s := runOK(t, shell("true"), Setting{THP: THPCollapse})
	if s.CollapsedBytes == nil || *s.CollapsedBytes != 0 {
		t.Errorf("%+v", s)
	}
}

func TestCollapseErrors(t *testing.T) {
	f := newFollower(procmem.FS{}, nil)
	f.fail(os.ErrProcessDone)
	s := &Sample{}
	if f.fill(s); s.Failure != "" {
		t.Error(s.Failure)
	}
	f.fail(syscall.EPERM)
	s = &Sample{}
	if f.fill(s); !strings.HasPrefix(s.Failure, "--thp collapse: ") {
		t.Errorf("%q", s.Failure)
	}
	f.total.Bytes = 1
	s = &Sample{}
	if f.fill(s); s.Failure != "" {
		t.Error(s.Failure)
	}
	if err := MayCollapse(); err != nil && !errors.Is(err, syscall.EPERM) && !errors.Is(err, page.ErrNotSupported) {
		t.Error(err)
	}
}
