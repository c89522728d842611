package page

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/foliomem/folio/internal/test/testenv"
)

// roles are programs of the test binary: what sets limits of a process needs one of its
// own.
var roles = map[string]func() error{"addressLimit": addressLimitRole, "thpDisabled": thpDisabledRole}

func TestMain(m *testing.M) {
	testenv.PlayRole(roles)
	book := &ledger{system: host}
	host = book
	code := m.Run()
	// The leak check: all that was mapped was unmapped, byte by byte.
	if left := book.left(); left != "" {
		fmt.Fprintln(os.Stderr, "leak: still mapped after the tests:", left)
		code = 1
	}
	if n, bytes := Mapped(); n != 0 || bytes != 0 {
		fmt.Fprintf(os.Stderr, "leak: Mapped() = %d, %d after the tests\n", n, bytes)
		code = 1
	}
	os.Exit(code)
}

// ledger keeps book of what is mapped.
type ledger struct {
	system
	mu     sync.Mutex
	mapped []Range
	wrong  []string
}

func (l *ledger) mmap(length uintptr, flags int) (unsafe.Pointer, error) {
	p, err := l.system.mmap(length, flags)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.mapped = append(l.mapped, OfPointer(p, length))
	}
	return p, err
}

func (l *ledger) munmap(addr, length uintptr) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.system.munmap(addr, length)
	if err != nil {
		return err
	}
	gone := Range{addr, addr + length}
	i := slices.IndexFunc(l.mapped, func(r Range) bool { return r.and(gone).Len() > 0 })
	if i < 0 || gone.End > l.mapped[i].End && gone.Start < l.mapped[i].Start {
		l.wrong = append(l.wrong, "unmapped what was not mapped: "+gone.String())
		return nil
	}
	r := l.mapped[i]
	l.mapped = slices.Delete(l.mapped, i, i+1)
	for _, rest := range []Range{{r.Start, gone.Start}, {gone.End, r.End}} {
		if rest.Len() > 0 {
			l.mapped = append(l.mapped, rest)
		}
	}
	return nil
}

func (l *ledger) left() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := slices.Clone(l.wrong)
	for _, r := range l.mapped {
		text = append(text, r.String())
	}
	return strings.Join(text, ", ")
}

func TestTheLeakCheckFindsALeak(t *testing.T) {
	book := &ledger{system: host}
	m, err := mapMemory(book, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if book.left() != m.Range().String() {
		t.Errorf("left() = %q while %v is mapped", book.left(), m.Range())
	}
	if err := m.Close(); err != nil || book.left() != "" {
		t.Errorf("Close: %v; left() = %q", err, book.left())
	}
}

// mapped maps memory for the length of a test.
func mapped(t testing.TB, s system, size int, o *Options) *Mapping {
	t.Helper()
	m, err := mapMemory(s, size, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// retry does a test again, up to five times, in which khugepaged may interfere:
// it can make a huge page of anything that is advised so, at any moment. It
// takes seconds to come by, so that it does not do so five times.
func retry(t *testing.T, test func(t testing.TB)) {
	t.Helper()
	var r *recorder
	for range 5 {
		r = &recorder{TB: t}
		func() {
			defer func() {
				if cause := recover(); cause != nil && cause != any(r) {
					panic(cause)
				}
			}()
			test(r)
		}()
		if len(r.failures) == 0 {
			return
		}
	}
	t.Errorf("failed five times, at last:\n%s", strings.Join(r.failures, "\n"))
}

// recorder takes a test's failures down.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Error(args ...any) { r.failures = append(r.failures, fmt.Sprintln(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	panic(r)
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}
