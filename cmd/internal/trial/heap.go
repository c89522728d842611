package trial

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ErrOwnHeap says that a program needs nothing for THPHeap: its heap asks for huge
// pages by itself, under every setting.
var ErrOwnHeap = errors.New("its heap asks for huge pages by itself: it was built or copied with a patch of folio's")

// ErrUntraced is part of the error of [Program.MayHeap] where no program may be traced. A
// copy that folio patch makes needs no trace.
var ErrUntraced = errors.New("where nothing may trace a process, folio patch makes a copy of the program")

// MayHeap says why the command cannot run under THPHeap, or that it need not, with an
// error that is ErrOwnHeap. Whether the heap then gets huge pages is for the system
// to say: see [WhyNotHuge].
func (p *Program) MayHeap() error {
	if p.Patched {
		return nil
	}
	return p.mayHeap()
}

// A heapChange is what is done for THPHeap when a trial starts.
type heapChange struct {
	// atExec changes the program itself, stopped at its exec, where there is no tree; nil for
	// nothing. refused is why it cannot.
	atExec  func(pid int) error
	refused error
}

func (p *Program) heapChange(tree *execTree) (c heapChange, err error) {
	c.atExec, err = p.heapAtExec()
	switch {
	case errors.Is(err, ErrOwnHeap):
		err = nil
	case tree != nil && isNotGo(err):
		c.refused, err = err, nil
	}
	return c, err
}

// heapError names the flag and the command.
func (p *Program) heapError(err error) error {
	return fmt.Errorf("--thp heap: %s: %w", p.Command[0], err)
}

// patched returns env with the variable that turns the patch of a program off that
// folio built, or without it. A program that has no patch gets env as it is.
func (p *Program) patched(env []string, thp THP) []string {
	if !p.Patched && thp != THPHeap {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return envKey(kv) == overlay.HugePagesVariable })
	if thp != THPHeap {
		env = append(env, overlay.HugePagesVariable+"="+overlay.HugePagesOff)
	}
	return env
}

// HeapsBelow says whether THPHeap changed a program that the command started: to keep that,
// the command needs folio exec --tree.
func HeapsBelow(samples []*Sample) bool {
	return slices.ContainsFunc(samples, func(s *Sample) bool { return s.HeapsBelow })
}

// HeapPrograms is what THPHeap did to the programs of one name in a tree.
type HeapPrograms struct {
	Name    string `json:"name" redact:"file"`
	Execs   int    `json:"execs"`                           // how often one was executed
	Changed int    `json:"changed"`                         // and its heap was put on huge pages
	NotGo   bool   `json:"not_go,omitempty"`                // none of them is a Go program
	Reason  string `json:"reason,omitempty" redact:"prose"` // why one of a Go program was not changed
}

// HeapHazard says what is unwise about THPHeap on this system; "" for nothing.
func HeapHazard(fs procmem.FS) string {
	thp, _ := fs.THP() // what is not known is nothing to warn of
	var out []string
	if thp.Enabled.Selected == "always" {
		out = append(out, "this system gives every program huge pages already (THP always): --thp heap changes little")
	}
	// Up to an eighth of a huge page, a heap takes little more than it holds.
	if n := thp.MaxPtesNone; n != nil && *n > page.WindowSize()/page.Size()/8 && thp.Enabled.Selected != "never" {
		out = append(out, fmt.Sprintf("a heap that shrinks may grow back on huge pages, over minutes: khugepaged fills windows of which %d of %d pages are missing; for a service, as root: echo 0 > /sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
			*n, page.WindowSize()/page.Size()))
	}
	return strings.Join(out, "; ")
}

// WhyNotHuge says why THPHeap would change nothing here, for a program with this
// environment; nil if nothing is known that would be in its way. The program can
// run all the same.
func WhyNotHuge(fs procmem.FS, env []string) error {
	if err := WhyHugeOff(fs, env); err != nil {
		return err
	}
	thp, err := fs.THP()
	switch {
	case err != nil && thp.Enabled.Selected == "":
		return fmt.Errorf("the policy for huge pages is not known: %w", err)
	case !thp.Present:
		return errors.New("the kernel has no transparent huge pages")
	}
	return nil
}

// WhyHugeOff says what turns huge pages off for a program with this environment; nil if
// nothing is known to.
func WhyHugeOff(fs procmem.FS, env []string) error {
	if godebug, _ := getenv(env, "GODEBUG"); disablesTHP(godebug) {
		return errors.New("GODEBUG=disablethp=1 forbids it: unset that")
	}
	if thp, _ := fs.THP(); thp.Enabled.Selected == "never" {
		return errors.New("transparent huge pages are off on this system: as root, echo madvise > /sys/kernel/mm/transparent_hugepage/enabled gives them to programs that ask")
	}
	if st, err := fs.Status(os.Getpid()); err == nil && st.THPDisabled() {
		return errors.New("huge pages are turned off for folio and what it starts: PR_SET_THP_DISABLE, or MemoryTHP= of a systemd unit")
	}
	return nil
}

// disablesTHP reads GODEBUG: the last setting of a name counts.
func disablesTHP(godebug string) bool {
	disabled := false
	for s := range strings.SplitSeq(godebug, ",") {
		if value, ok := strings.CutPrefix(s, "disablethp="); ok {
			disabled = value != "0"
		}
	}
	return disabled
}
