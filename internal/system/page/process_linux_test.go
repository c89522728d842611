package page

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/test/testenv"
)

// another starts a copy of the test binary that maps four windows of base pages, of
// which the first three are full and the last has one page, and returns them.
func another(t *testing.T) (pid int, r Range) {
	t.Helper()
	cmd := testenv.Role(t, "windows")
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err) // it checks its memory
		}
	})
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(line, "%x-%x", &r.Start, &r.End); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, r
}

func init() { roles["windows"] = windowsRole }

func windowsRole() error {
	size := HugeSize()
	m, err := Map(5*size, &Options{Kind: THP}) // one window more than is used: aligned memory
	if err != nil {
		return err
	}
	defer m.Close()
	// Base pages first, and then no advice that would keep huge ones away.
	r := m.Range()
	if err := r.Advise(AdviseNoHuge); err != nil {
		return err
	}
	b := m.Bytes()
	for off := 0; off < 3*size; off += Size() {
		b[off] = 7
	}
	b[3*size] = 7
	if err := r.Advise(AdviseHuge); err != nil {
		return err
	}
	fmt.Println(Range{r.Start, r.Start + uintptr(4*size)})
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	for off := 0; off < 3*size; off += Size() {
		if b[off] != 7 {
			return fmt.Errorf("byte %d changed", off)
		}
	}
	return nil
}

func TestProcess(t *testing.T) {
	if HugeSize() == 0 {
		testenv.Missing(t, "no transparent huge pages")
	}
	if err := feature.Have(feature.Collapse); err != nil {
		testenv.Missing(t, "%v", err)
	}
	if feature.Have(feature.PagemapScan) != nil {
		testenv.Missing(t, "needs PAGEMAP_SCAN to know which windows are huge")
	}
	pid, r := another(t)
	p, err := OpenProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.MayCollapse(); err != nil {
		testenv.Missing(t, "%v", err)
	}
	size := uint64(HugeSize())
	res, err := p.Residency(r, &ResidencyOptions{Windows: true, Touched: true})
	if err != nil || res.Resident < 3*size || len(res.Windows) != 4 || res.Touched != 3*size+uint64(Size()) {
		t.Errorf("before: %+v, %v", res, err)
	}
	c, err := p.Collapse(r, nil)
	// khugepaged may have come by.
	if err != nil || c.Collapsed+c.Already < 3 || c.Sparse+c.Already+c.Collapsed != 4 || c.Refused != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if res, err = p.Residency(r, nil); err != nil || res.Huge < 3*size {
		t.Errorf("after: %+v, %v", res, err)
	}
}

func TestProcessThatEnded(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err) // no such program
	}
	p, err := OpenProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := p.Residency(Range{0x1000, 0x2000}, nil); err == nil {
		t.Error("Residency: no error")
	}
	if err := p.MayCollapse(); feature.Have(feature.Collapse) == nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("MayCollapse: %v", err)
	}
	if _, err := OpenProcess(1 << 30); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("OpenProcess of nobody: %v", err)
	}
}

// TestMayCollapseNamesTheCapability uses a system that refuses.
func TestMayCollapseNamesTheCapability(t *testing.T) {
	if err := feature.Have(feature.Collapse); err != nil {
		testenv.Missing(t, "%v", err)
	}
	p := &Process{sys: refusing{host}}
	if err := p.MayCollapse(); !errors.Is(err, syscall.EPERM) || errors.Is(err, ErrNotSupported) {
		t.Error(err)
	}
}

type refusing struct{ system }

func (refusing) madvise(uintptr, uintptr, int) error { return unix.EPERM }
