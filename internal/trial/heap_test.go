package trial

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/foliomem/folio/internal/procmem"
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
		err := GetsHuge(procmem.New(root), c.env)
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if c.want != "" {
			checkMessage(t, err, c.want)
		}
	}
}
