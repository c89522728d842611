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

	"github.com/foliomem/folio/internal/procmem"
	"github.com/foliomem/folio/internal/testenv"
	"github.com/foliomem/folio/page"
)

type heapNode struct {
	next *heapNode
	data [7]uint64
}

// roleHeap (MiB, s) grows a dense heap, waits until half of it is on huge pages or the
// time is over, and a little longer for those who watch.
func roleHeap(words []string) error {
	debug.SetGCPercent(-1) // garbage would leave holes
	var head *heapNode
	want := uint64(number(words, 0)) * mib
	for i := range want / 64 {
		head = &heapNode{head, [7]uint64{i}}
	}
	for end := time.Now().Add(time.Duration(number(words, 1)) * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		sm, err := procmem.FS{}.SmapsRollup(0)
		if err != nil {
			return err
		}
		if sm.AnonHugePages != nil && *sm.AnonHugePages >= want/2 {
			time.Sleep(time.Second)
			break
		}
	}
	runtime.KeepAlive(head)
	return nil
}

func needCollapse(t *testing.T) {
	t.Helper()
	if err := MayCollapse(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	if err := page.Allowed(page.THP, 0); err != nil {
		testenv.Missing(t, "%v", err) // not needed, but then the other test has no meaning
	}
}

// TestCollapseFollowsTheChild, also one that a shell starts.
func TestCollapseFollowsTheChild(t *testing.T) {
	needCollapse(t)
	for name, p := range map[string]*Program{
		"the program itself": role("heap", "64", "30"),
		"below a shell":      shell(roleLine("heap", "64", "30") + "; true"),
	} {
		s := runOK(t, p, Setting{THP: THPCollapse})
		if s.HugePeak == nil || *s.HugePeak < 32*mib {
			t.Errorf("%s: at most %v MiB were huge", name, mibOf(s.HugePeak))
		}
		if s.CollapsedBytes == nil || *s.CollapsedBytes < 32*mib || s.CollapseSeconds == nil || *s.CollapseSeconds <= 0 {
			t.Errorf("%s: folio says %v MiB", name, mibOf(s.CollapsedBytes))
		}
	}
	// Nobody does so unasked.
	s := runOK(t, role("heap", "64", "1"), Setting{THP: THPOff})
	if s.HugePeak != nil && *s.HugePeak > 0 || s.CollapsedBytes != nil || s.CollapseSeconds != nil {
		t.Errorf("with huge pages off %v MiB were huge, collapsed %v", mibOf(s.HugePeak), mibOf(s.CollapsedBytes))
	}
}

// A program that has nothing to collapse is no failure.
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
