package text

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/internal/base/console"
)

// TestNarrow: in a narrow terminal no name but a command is cut and no line is wider than it: columns are left
// out, long names have a line of their own, and what still has too many columns is a list.
func TestNarrow(t *testing.T) {
	const long = "GOGC=off GOMEMLIMIT=14384MiB thp=heap"
	head := func(of ...document.Column) []document.Column { return of }
	name, last := document.Column{Label: "setting"}, document.Column{Label: "what grows"}
	wall, share := document.Column{Label: "wall", Num: true}, document.Column{Label: "share", Num: true, Drop: 2}
	runs, diff := document.Column{Label: "runs", Num: true, Drop: 1}, document.Column{Label: "vs default", Num: true}
	command := document.Column{Label: "command", Cut: true}
	rows := func(of ...string) (out []document.Row) {
		for _, r := range of {
			var row document.Row
			for c := range strings.SplitSeq(r, "|") {
				row.Cells = append(row.Cells, document.Cell{Text: c})
			}
			out = append(out, row)
		}
		return out
	}
	for _, c := range []struct {
		what  string
		head  []document.Column
		rows  []document.Row
		width int
		full  bool
		want  string
	}{
		{"room for all", head(name, wall, share, runs), rows("default|245.2ms|1.5%|24"), 80, false,
			"  setting     wall  share  runs\n  default  245.2ms   1.5%    24\n"},
		{"the least useful column goes first", head(name, wall, share, runs), rows("default|245.2ms|1.5%|24"), 28, false,
			"  setting     wall  share\n  default  245.2ms   1.5%\n\n--full shows the rest.\n"},
		{"then the next", head(name, wall, share, runs), rows("default|245.2ms|1.5%|24"), 22, false,
			"  setting     wall\n  default  245.2ms\n\n--full shows the rest.\n"},
		{"a long name", head(name, wall, diff), rows("default|245.2ms|", long+"|159.0ms|-35.1% [-45.2%, -27.9%]"), 60, false,
			"  setting     wall               vs default\n  default  245.2ms\n  " + long + "\n           159.0ms  -35.1% [-45.2%, -27.9%]\n"},
		{"a long name behind its figures", head(wall, diff, last), rows("876.3MiB|+3%|main.grow main.go:15, from main.main", "1MiB|+1%|malloc"), 50, false,
			"      wall  vs default  what grows\n  876.3MiB         +3%\n    main.grow main.go:15, from main.main\n      1MiB         +1%  malloc\n"},
		{"a name behind other words", head(wall, document.Column{Label: "go", Drop: 1}, last), rows("1MiB|1.26.8|go test ./cmd/internal"), 30, false,
			"  wall  what grows\n  1MiB  go test ./cmd/internal\n\n--full shows the rest.\n"},
		{"a command", head(wall, document.Column{Label: "go", Drop: 1}, command), rows("1MiB|1.26.8|/opt/go/bin/go test -run=X ./cmd/internal"), 30, false,
			"  wall  command\n  1MiB  go test -run=X ./cm...\n\n--full shows the rest.\n"},
		{"a command in full", head(wall, command), rows("1MiB|/opt/go/bin/go test ./cmd/internal"), 30, true,
			"  wall  command\n  1MiB\n    /opt/go/bin/go test\n      ./cmd/internal\n"},
		{"all columns in a narrow terminal", head(name, wall, diff, runs), rows("default|245.2ms||24", long+"|159.0ms|-35.1% [-45.2%, -27.9%]|24"), 40, true,
			"  default\n    wall 245.2ms, runs 24\n  " + long + "\n    wall 159.0ms, vs default -35.1%\n      [-45.2%, -27.9%], runs 24\n"},
	} {
		d := &document.Document{Sections: []*document.Section{{Kicker: "k", Heading: "h",
			Blocks: []*document.Block{{Key: true, Title: "t", Tables: []*document.Table{{Head: c.head, Rows: c.rows}}}}}}}
		var b strings.Builder
		if err := Render(&b, d, Options{Width: c.width, Full: c.full}); err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(b.String(), "\nt\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
		for l := range strings.Lines(b.String()) {
			if console.Width(strings.TrimSuffix(l, "\n")) > c.width {
				t.Errorf("%s: a line is wider than %d columns: %q", c.what, c.width, l)
			}
		}
	}
}
