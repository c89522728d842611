package procmem

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTHP(t *testing.T) {
	for name, want := range map[string]string{
		"linux-5.10":          "true madvise/3 madvise/5 2097152 511",
		"linux-6.1-arm64-64k": "true always/3 defer+madvise/5 536870912 8191",
		"linux-6.18":          "true never/3 madvise/5 2097152 0",
		"minimal":             "false /0 /0 absent absent",
	} {
		p, err := fixture(name).THP()
		got := fmt.Sprintf("%v %s/%d %s/%d %s %s", p.Present, p.Enabled.Selected, len(p.Enabled.Options),
			p.Defrag.Selected, len(p.Defrag.Options), have(p.HugePageBytes), have(p.MaxPtesNone))
		if err != nil || got != want {
			t.Errorf("%s: THP = %s, %v, want %s", name, got, err, want)
		}
	}
}

// TestTHPPartial is a policy of which some files are missing or strange: what
// can be read is.
func TestTHPPartial(t *testing.T) {
	root := t.TempDir()
	write(t, root, thpDir+"enabled", "always madvise [never]\n")
	write(t, root, thpDir+"defrag", "always never\n")
	p, err := New(root).THP()
	if !p.Present || p.Enabled.Selected != "never" || p.Defrag.Selected != "" || p.HugePageBytes != nil || p.MaxPtesNone != nil {
		t.Errorf("THP = %+v", p)
	}
	if err == nil {
		t.Fatal("no error")
	}
	for _, file := range []string{"defrag", "hpage_pmd_size", "max_ptes_none"} {
		if !strings.Contains(err.Error(), file) {
			t.Errorf("error %v does not name %s", err, file)
		}
	}
}

func TestChoiceErrors(t *testing.T) {
	for _, in := range []string{"", "always", "[]", "[a] [b]", "[a"} {
		if c, err := parseChoice([]byte(in)); err == nil {
			t.Errorf("parseChoice(%q) = %+v, want an error", in, c)
		}
	}
}

func FuzzChoice(f *testing.F) {
	seed(f, thpDir+"enabled")
	seed(f, thpDir+"defrag")
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := parseChoice(data); err == nil && !slices.Contains(c.Options, c.Selected) {
			t.Errorf("%q is not among %q", c.Selected, c.Options)
		}
	})
}
