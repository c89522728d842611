package figure

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchunit"
)

func TestFiguresAreComplete(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range All {
		for _, name := range []string{f.Key, f.Unit, f.Label} {
			if name == "" || seen[name] {
				t.Errorf("%s: %q is missing, or another figure's", f.Key, name)
			}
			seen[name] = true
		}
		if f.Short == "" {
			t.Errorf("%s has no short name", f.Key)
		}
		if f.Kind != KindOf(f.Key) {
			t.Errorf("%s is %s, its key says %s", f.Key, f.Kind, KindOf(f.Key))
		}
		if f.Kind != KindOfUnit(f.Unit) {
			t.Errorf("%s is %s, its unit %s says %s", f.Key, f.Kind, f.Unit, KindOfUnit(f.Unit))
		}
		if got, ok := OfUnit(f.Unit); !ok || got != f {
			t.Errorf("%s: %v", f.Unit, got)
		}
	}
	if f, ok := OfUnit("minor-faults/second"); !ok || f.Key != "minor_faults" {
		t.Errorf("a rate is of %v", f)
	}
	if _, ok := OfUnit("op/s"); ok {
		t.Error("op/s is not a figure of Folio")
	}
}

// What benchstat scales by 1024, so does Folio.
func TestKindOfUnit(t *testing.T) {
	for name, want := range map[string]Kind{
		"sec/op": Seconds, "cpu-sec/op": Seconds, "gc-pause-max-sec": Seconds, "B/op": Bytes, "peak-RSS-bytes": Bytes, "resident-bytes": Bytes,
		"allocs/op": Number, "op/s": Number, "B/s": Number, "memory-tax-fraction": Share, "gc-cycles/op": Count,
		"gc-cycles/s": Number, "minor-faults/second": Count,
	} {
		if got := KindOfUnit(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
		if binary := benchunit.ClassOf(name) == benchunit.Binary && !strings.Contains(name, "/s"); binary != (want == Bytes) {
			t.Errorf("%s: benchstat disagrees", name)
		}
	}
}

func TestOfUnknownKey(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	ByKey("no_such_figure")
}

// docs/results.md lists the figures as they are.
func TestDocumented(t *testing.T) {
	want := []string{"| key | unit | name | of several runs | better | Go benchmark unit |", "|---|---|---|---|---|---|"}
	for _, f := range All {
		several := "median"
		if f.Pooled {
			several = "pooled"
		}
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s | %s | `%s` |", f.Key, jsonUnit(f.Kind), f.Label, several, []string{"less", "more", "-"}[f.Better], f.Unit))
	}
	data, err := os.ReadFile("../../../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(data), "\n## Figures\n")
	if !ok {
		t.Fatalf("docs/results.md has no section Figures; want\n%s", strings.Join(want, "\n"))
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var got []string
	for l := range strings.SplitSeq(section, "\n") {
		if strings.HasPrefix(l, "|") {
			got = append(got, l)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/results.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// jsonUnit names the unit that JSON has the kind in, "" for a plain number.
func jsonUnit(k Kind) string {
	switch k {
	case Seconds:
		return "s"
	case Bytes:
		return "B"
	case Share:
		return "1"
	}
	return ""
}
