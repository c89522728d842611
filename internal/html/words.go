package html

import (
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/internal/unit"
)

// upper makes the first letter of a sentence upper case.
func upper(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return strings.ToUpper(string(r)) + s[n:]
}

var figureLabels = map[string]string{
	"wall_seconds": "wall clock", "user_seconds": "user time", "sys_seconds": "system time", "cpu_seconds": "processor time",
	"peak_rss_bytes": "peak RSS, largest process", "peak_tree_rss_bytes": "peak RSS, all processes", "minor_faults": "minor page faults", "major_faults": "major page faults",
	"gc_cycles": "GC cycles", "gc_pause_seconds": "stop-the-world", "gc_trace_cpu_seconds": "GC CPU by gctrace", "gc_cpu_seconds": "GC CPU time", "gc_cpu_fraction": "GC share of CPU time",
	"gc_pause_max_seconds": "stop-the-world, max", "memory_tax_fraction": "memory tax, share of CPU time", "heap_peak_bytes": "heap peak", "huge_peak_bytes": "most on huge pages",
}

// figureLabel names a figure of a sample for people.
func figureLabel(key string) string {
	if l, ok := figureLabels[key]; ok {
		return l
	}
	return strings.ReplaceAll(key, "_", " ")
}

// figureFormat prints a figure in the unit that its key says.
func figureFormat(key string) func(float64) string {
	switch {
	case strings.HasSuffix(key, "_per_second"):
		return unit.Rate
	case strings.HasSuffix(key, "_seconds"):
		return unit.Seconds
	case strings.HasSuffix(key, "_bytes"):
		return unit.Bytes
	case strings.HasSuffix(key, "_fraction"):
		return unit.Percent
	}
	return unit.Count
}

// axisFormat is the format of an axis for a figure.
func axisFormat(key string) string {
	switch {
	case strings.HasSuffix(key, "_per_second"):
		return Count
	case strings.HasSuffix(key, "_seconds"):
		return Seconds
	case strings.HasSuffix(key, "_bytes"):
		return Bytes
	case strings.HasSuffix(key, "_fraction"):
		return Percent
	}
	return Count
}

func join(words []string) string { return strings.Join(words, ", ") }

// isDetail says that a sentence belongs to the one before: the lab sets such
// ones in.
func isDetail(s string) bool { return strings.HasPrefix(s, "  ") }
