package goheap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/testenv"
)

func init() { roles["fenced"] = fencedRole }

const rootEnv = "GOHEAP_TEST_ROOT"

func TestFence(t *testing.T) {
	needCollapse(t)
	root := t.TempDir()
	dir := filepath.Join(root, "sys/kernel/mm/transparent_hugepage")
	if err := os.MkdirAll(filepath.Join(dir, "khugepaged"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"enabled": "[always] madvise never\n", "defrag": "always defer defer+madvise [madvise] never\n",
		"hpage_pmd_size": fmt.Sprintln(page.HugeSize()), "khugepaged/max_ptes_none": "1000000\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	testenv.RunRole(t, "fenced", rootEnv+"="+root)
}

// fencedRole finds a system where khugepaged fills all memory: the heap is taken out of
// its reach, and can be collapsed nevertheless.
func fencedRole() error {
	all := grow(dense)
	ranges, err := own(procFS)
	if err != nil {
		return err
	}
	a := &Advisor{options: Options{MinDensity: 0.8, MaxBloat: 1}, fs: procmem.New(os.Getenv(rootEnv))}
	a.stats.Ranges = ranges
	flags := func(want string) (err error) {
		for _, r := range ranges {
			text, ferr := flagsOf(r)
			has := strings.Contains(text, " nh")
			if ferr != nil || has != (want == "nh") {
				err = errors.Join(err, fmt.Errorf("flags of %v: %s, %v, want %s", r, text, ferr, want))
			}
		}
		return err
	}
	if err := a.fenceUsed(); err != nil {
		return err
	}
	if err := flags("nh"); err != nil || size(a.stats.Fenced) != size(ranges) {
		return fmt.Errorf("%w, fenced %v of %v", err, a.stats.Fenced, ranges)
	}
	var huge uint64
	for _, r := range ranges {
		res, err := r.Residency(&page.ResidencyOptions{Windows: true})
		if err != nil {
			return err
		}
		for _, w := range res.Windows {
			if w.Range.Len() == uintptr(page.WindowSize()) && w.Density() >= a.options.MinDensity {
				a.window(w)
			}
		}
		if res, err = r.Residency(nil); err != nil {
			return err
		}
		huge += res.Huge
	}
	if huge < dense*8/10 || a.stats.Err != nil {
		return fmt.Errorf("%d bytes are huge, %+v", huge, a.stats)
	}
	if err := flags("nh"); err != nil {
		return fmt.Errorf("after collapsing: %w", err)
	}
	if err := a.release(); err != nil {
		return err
	}
	return errors.Join(flags("hg"), check(all))
}

func TestUnion(t *testing.T) {
	r := func(start, end uintptr) page.Range { return page.Range{Start: start, End: end} }
	got := union([]page.Range{r(50, 60), r(10, 20), r(20, 30), r(12, 14), r(55, 70)})
	if want := []page.Range{r(10, 30), r(50, 70)}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if union(nil) != nil {
		t.Error("nothing")
	}
}
