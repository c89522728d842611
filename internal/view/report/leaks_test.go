package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/system/leak"
)

// What could not be watched is null in the file, and not 0 of it in the text.
func TestLeaksUnread(t *testing.T) {
	for _, c := range []struct {
		report leak.Report
		text   string
		null   string // of the keys
	}{
		{leak.Report{Sites: new(7), Starts: new(0), Parts: new(6), Cycles: new(9)}, "7 lines that allocate (9 GC cycles), 0 go statements, 6 parts of its memory", ""},
		{leak.Report{Starts: new(2), Parts: new(6)}, ": 2 go statements, 6 parts of its memory", "allocation_sites heap_profiles"},
		{leak.Report{Parts: new(6)}, ": 6 parts of its memory", "allocation_sites goroutine_sites heap_profiles"},
		{leak.Report{}, ": nothing of it could be read", "allocation_sites goroutine_sites heap_profiles memory_parts"},
	} {
		c.report.Elapsed = time.Minute
		f := result.NewSites("v1", "leaks", 7, nil, "")
		f.SetLeaks(&c.report)
		var b strings.Builder
		if err := Sites(&b, f, 20); err != nil || !strings.Contains(b.String(), c.text+"\n") {
			t.Errorf("no %q in %q, %v", c.text, b.String(), err)
		}
		data, err := f.JSON()
		var keys struct {
			Leaks map[string]any `json:"leaks"`
		}
		if err != nil || json.Unmarshal(data, &keys) != nil {
			t.Fatalf("%s, %v", data, err)
		}
		for _, key := range []string{"allocation_sites", "goroutine_sites", "heap_profiles", "memory_parts"} {
			if value, has := keys.Leaks[key]; !has || (value == nil) != strings.Contains(c.null, key) {
				t.Errorf("%s: %v, %v; null should be %s", key, value, has, c.null)
			}
		}
	}
}
