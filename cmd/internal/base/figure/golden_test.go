package figure

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// others are formats that a kind of figure does not have.
var others = []struct {
	what string
	is   *regexp.Regexp
}{
	{"a time with a space before its unit, not as Seconds prints it", regexp.MustCompile(`\d (ns|µs|us|ms|s|sec|seconds)\b`)},
	{"a size with a space before its unit, not as Bytes or Exact print it", regexp.MustCompile(`\d (B|bytes|[KMGT]i?B)\b`)},
	{"a size in decimal units", regexp.MustCompile(`\d[kKMGT]B\b`)},
	{"a size with one or two decimals, not as Bytes prints it", regexp.MustCompile(`\b(\d\.\d{1,2}|\d\d\.\d)[KMGT]iB\b`)},
	{"a time with too few digits, not as Seconds prints it", regexp.MustCompile(`\b(\d\.\d{1,2}|\d\d\.\d)(ns|µs|ms)\b`)},
	{"a count without thousands apart", regexp.MustCompile(`(^| )\d{4,}(/s| +(minor|major|page|faults|GC|cycles|objects|windows|runs|samples|loads)\b)|(^| )\d{5,}( |$)`)},
	{"a share with other than one decimal", regexp.MustCompile(`(^|[^-+\d.,])(\d+|\d+\.\d{2,})%`)},
}

// notFigures are numbers that were chosen, not measured, bounds of intervals, and names of
// figures of Go benchmarks.
var notFigures = regexp.MustCompile(`\w+-\d+ \w+/op\b|± \d+%|\[?95%|\d+(-| to )\d+%|--duration \S+|one in \d+|less than \d+% in memory|within 2%|more than \d+%|\d+% to spare|by \d+%`)

func odd(text string) (out []string) {
	text = notFigures.ReplaceAllString(text, "")
	for _, o := range others {
		if m := o.is.FindString(text); m != "" {
			out = append(out, strings.TrimSpace(m)+": "+o.what)
		}
	}
	return out
}

var (
	notShown = regexp.MustCompile(`(?s)<(script|style)\b.*?</(script|style)>`)
	tag      = regexp.MustCompile(`<[^>]*>`)
)

// A kind of figure has one format in all that Folio shows: the golden files of its
// texts, comparisons and pages have no other.
func TestGoldenTextsHaveOneFormat(t *testing.T) {
	lines := 0
	for _, pattern := range []string{"../../view/text/testdata/*.txt", "../../view/compare/testdata/*.txt",
		"../../view/html/testdata/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			if filepath.Base(file) == "bench.txt" && strings.Contains(file, "/text/") {
				continue // the Go benchmark format, for programs
			}
			if filepath.Ext(file) == ".html" {
				text = html.UnescapeString(tag.ReplaceAllString(notShown.ReplaceAllString(text, ""), "\n"))
			}
			for line := range strings.SplitSeq(text, "\n") {
				lines++
				for _, o := range odd(line) {
					t.Errorf("%s: %s\n%s", file, o, line)
				}
			}
		}
	}
	if lines < 500 {
		t.Errorf("only %d lines", lines)
	}
}

// The check must be able to fail, and to pass.
func TestOddFormatsAreFound(t *testing.T) {
	for text, want := range map[string]bool{
		"took 2.00 s": true, "12.0 ms total": true, "12.0ms total": true, "500 µs": true, "64 MiB live": true,
		"1.5MiB": true, "48.2MiB": true, "10 MB": true,
		"76886 minor page faults": true, "76886": true, "14999/s": true, "89% marking": true, "31.25%": true,
		"took 2.000s, 12.00ms, 500.0µs, 0s": false, "64.00MiB, 200.0MiB, 0B, GOMEMLIMIT=512MiB": false, "76,886 faults, 120 cycles": false,
		"31.2% of CPU time ± 3%, [95%]": false, "process 4242: orders": false, "in 2m38s": false,
	} {
		if got := len(odd(text)) > 0; got != want {
			t.Errorf("%q: found %v, want %v", text, odd(text), want)
		}
	}
}
