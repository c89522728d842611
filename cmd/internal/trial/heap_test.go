package trial

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// The variable of the patch is the setting's alone, whatever the environment says.
func TestPatchedEnvironment(t *testing.T) {
	base := []string{"A=1", "FOLIO_HUGEPAGES=on", "FOLIO=off", "FOLIO_HUGEPAGES=off"}
	stock := []string{"A=1", "FOLIO=off", "FOLIO_HUGEPAGES=off"}
	for _, c := range []struct {
		patched bool
		thp     THP
		want    []string
	}{
		{false, THPSystem, base},
		{true, THPHeap, stock[:2]},
		{true, THPSystem, stock},
		{true, THPOff, stock},
		{true, THPCollapse, stock},
	} {
		before := slices.Clone(base)
		if got := (&Program{Patched: c.patched}).patched(base, c.thp); !slices.Equal(got, c.want) {
			t.Errorf("patched %v, %q: %q, want %q", c.patched, c.thp, got, c.want)
		}
		if !slices.Equal(base, before) {
			t.Fatalf("the base was changed to %q", base)
		}
	}
}

func TestGetsHuge(t *testing.T) {
	for _, c := range []struct {
		name, enabled, status string
		env                   []string
		want                  string // "" for nothing in the way
	}{
		{"madvise", "always [madvise] never\n", "THP_enabled:\t1\n", nil, ""},
		{"always", "[always] madvise never\n", "", nil, ""},
		{"never", "always madvise [never]\n", "THP_enabled:\t1\n", nil, "echo madvise > "},
		{"no THP", "", "", nil, "the kernel has no transparent huge pages"},
		{"turned off", "always [madvise] never\n", "THP_enabled:\t0\n", nil, "PR_SET_THP_DISABLE"},
		{"GODEBUG", "always [madvise] never\n", "", []string{"GODEBUG=gctrace=1,disablethp=1"}, "GODEBUG=disablethp=1"},
		{"GODEBUG of old", "always [madvise] never\n", "", []string{"GODEBUG=disablethp=1", "GODEBUG="}, ""},
	} {
		root := t.TempDir()
		put := func(name, text string) {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if c.enabled != "" {
			put("sys/kernel/mm/transparent_hugepage/enabled", c.enabled)
			put("sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "2097152\n")
		}
		put(filepath.Join("proc", strconv.Itoa(os.Getpid()), "status"), "Name:\tx\n"+c.status)
		err := WhyNotHuge(procmem.New(root), c.env)
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if c.want != "" {
			checkMessage(t, err, c.want)
		}
		// What is not known keeps no program from asking.
		if off := WhyHugeOff(procmem.New(root), c.env); (off != nil) != (c.want != "" && c.name != "no THP") {
			t.Errorf("%s: off: %v", c.name, off)
		}
	}
}

func TestHeapHazard(t *testing.T) {
	all := page.WindowSize() / page.Size()
	for _, c := range []struct {
		enabled string
		none    int
		want    []string // none: nothing to say
	}{
		{"always [madvise] never", 0, nil},
		{"always [madvise] never", all / 8, nil},
		{"always [madvise] never", all - 1, []string{"a heap that shrinks may grow back",
			"echo 0 > /sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none"}},
		{"[always] madvise never", 0, []string{"THP always"}},
		{"[always] madvise never", all - 1, []string{"THP always", "a heap that shrinks"}},
		{"always madvise [never]", all - 1, nil},
	} {
		dir := filepath.Join(t.TempDir(), "sys/kernel/mm/transparent_hugepage")
		if err := os.MkdirAll(filepath.Join(dir, "khugepaged"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"enabled": c.enabled, "hpage_pmd_size": "2097152",
			"khugepaged/max_ptes_none": strconv.Itoa(c.none)} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got := HeapHazard(procmem.New(strings.TrimSuffix(dir, "/sys/kernel/mm/transparent_hugepage")))
		if len(c.want) == 0 && got != "" {
			t.Errorf("%+v: %q", c, got)
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%+v: %q, want %q", c, got, w)
			}
		}
	}
	if got := HeapHazard(procmem.New(t.TempDir())); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
