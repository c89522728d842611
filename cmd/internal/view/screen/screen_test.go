package screen

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/foliomem/folio/cmd/internal/process/history"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/cmd/internal/result"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

const mib = 1 << 20

// evil is a name that would take over the terminal.
const evil = "\x1b[2J\x1b]0;owned\a\u202e\u009b31m\r\nFORGED"

// process is one whose live heap grows by a MiB a second, after so many readings; limit is
// that of its cgroup in MiB, 0 for none.
func process(t *testing.T, name string, readings, limit int) *result.Process {
	t.Helper()
	h := &history.History{}
	f := result.NewInspect("v1")
	for i := range readings {
		live, gogc := int64(100+i)*mib, 100
		p := &inspect.Process{
			PID: 1234, Command: []string{"/usr/bin/" + name, "-x"}, Name: name, UID: new(1000), IsGo: new(true), GoVersion: "go1.26.8",
			Module: "example.com/" + name, Resident: new(uint64(200 * mib)),
			Waterfall: &waterfall.Waterfall{
				At: time.Unix(int64(i), 0), RSS: uint64(live) + 60*mib, GC: &waterfall.GC{Cycles: uint32(70 + 2*i), Percent: gogc, Limit: new(uint64(1 << 30))},
				PageTables: new(uint64(600 << 10)),
				Parts: []waterfall.Part{
					{Kind: waterfall.Live, Bytes: live, Runtime: new(uint64(live)), Uncertainty: new(uint64(0)), How: waterfall.Computed},
					{Kind: waterfall.Unused, Bytes: 30 * mib, Runtime: new(uint64(31 * mib)), Uncertainty: new(uint64(0)), How: waterfall.Computed},
					{Kind: waterfall.Data, Bytes: mib, How: waterfall.Read},
					{Kind: waterfall.Named, Bytes: 9 * mib, How: waterfall.Read, Of: []waterfall.Share{{Name: "[anon:" + name + "]", Bytes: 9 * mib}}},
					{Kind: waterfall.Text, Bytes: 20 * mib, How: waterfall.Read},
					{Kind: waterfall.Shared, How: waterfall.Read},
				},
				Notes: []string{"1 GC cycle ended while it was read"},
			},
			Notes: []string{"a note about " + name},
		}
		if limit > 0 {
			p.Limit = &inspect.Limit{Dir: "/sys/fs/cgroup/x", Bytes: uint64(limit) * mib, Used: uint64(live) + 70*mib, Cache: 5 * mib}
		}
		if i > 0 {
			p.Faults = &inspect.Faults{Over: time.Second, Minor: 300, Major: 2}
		}
		h.Add(p, uint64(300*i), uint64(2*i))
		f.SetProcess(p)
	}
	f.SetHistory(h, h.Recent())
	return f.Process
}

// after returns the screen after messages.
func after(msgs ...tea.Msg) Model {
	var m tea.Model = Model{Every: "1s"}
	for _, msg := range msgs {
		m, _ = m.Update(msg)
	}
	return m.(Model)
}

func size(width, height int) tea.WindowSizeMsg {
	return tea.WindowSizeMsg{Width: width, Height: height}
}

func key(text string) tea.KeyPressMsg {
	if text == "ctrl+c" {
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(text)[0], Text: text}
}

// style are folio's own styles.
var style = regexp.MustCompile("\x1b\\[[0-9]?m")

func TestScreen(t *testing.T) {
	grows := func(limit int) Reading { return Reading{process(t, "prog", 30, limit)} }
	stripped := process(t, "prog", 1, 0)
	stripped.Waterfall, stripped.OverTime.Seconds = nil, nil
	for _, c := range []struct {
		name string
		msgs []tea.Msg
		rows int
	}{
		{"waiting", []tea.Msg{size(80, 24)}, 24},
		{"grows", []tea.Msg{size(120, 30), grows(0)}, 30},
		{"limit", []tea.Msg{size(100, 32), grows(256)}, 32},
		{"full", []tea.Msg{size(80, 24), grows(200)}, 24},
		{"first", []tea.Msg{size(80, 24), Reading{process(t, "prog", 1, 0)}}, 24},
		{"small", []tea.Msg{size(40, 12), grows(256)}, 12},
		{"unsized", []tea.Msg{grows(0)}, 24},
		{"denied", []tea.Msg{size(80, 24), Reading{&result.Process{ProcessID: result.ProcessID{PID: 7, Name: "daemon"},
			Resident: new(uint64(9 * mib)), Notes: []string{"its memory is not known: needs CAP_SYS_PTRACE"}, OverTime: &result.OverTime{}}}}, 24},
		{"tiny", []tea.Msg{size(10, 2), grows(0)}, 1},
	} {
		lines := after(c.msgs...).Lines()
		if len(lines) != c.rows {
			t.Errorf("%s: %d lines, want %d", c.name, len(lines), c.rows)
		}
		width := 80
		if w, ok := c.msgs[0].(tea.WindowSizeMsg); ok {
			width = w.Width
		}
		for _, l := range lines {
			if n := len([]rune(style.ReplaceAllString(l, ""))); n > width {
				t.Errorf("%s: %d columns of %d: %q", c.name, n, width, l)
			}
		}
		golden(t, c.name+".txt", strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\x1b", "ESC"))
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update rewrites it); got:\n%s", path, got)
	}
}

// Keys: q, esc and ctrl-C end it, p holds what is shown.
func TestKeys(t *testing.T) {
	for _, k := range []string{"q", "ctrl+c"} {
		_, cmd := after().Update(key(k))
		if cmd == nil {
			t.Errorf("%s does nothing", k)
		} else if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%s: %T", k, cmd())
		}
	}
	first, second := process(t, "first", 2, 0), process(t, "second", 3, 0)
	m := after(Reading{first}, key("p"), Reading{second})
	if text := strings.Join(m.Lines(), "\n"); !strings.Contains(text, "/usr/bin/first") || !strings.Contains(text, "(paused)") {
		t.Errorf("paused:\n%s", text)
	}
	next, _ := m.Update(key("p"))
	if text := strings.Join(next.(Model).Lines(), "\n"); !strings.Contains(text, "/usr/bin/second") || strings.Contains(text, "(paused)") {
		t.Errorf("goes on:\n%s", text)
	}
}

// Whatever a process is called, its name cannot do anything to the terminal.
func TestNamesAreEscaped(t *testing.T) {
	p := process(t, evil, 30, 256)
	p.Waterfall.Parts[0].Kind = evil
	p.OverTime.Parts[0].Kind = evil
	p.Waterfall.Allocators = []string{evil}
	for _, width := range []int{40, 80, 200} {
		view := after(size(width, 60), Reading{p}).View()
		text := style.ReplaceAllString(view.Content, "")
		if !strings.Contains(text, `\x1b[2J`) || !view.AltScreen {
			t.Errorf("the name is not in\n%s", text)
		}
		for _, l := range strings.Split(text, "\n") {
			if strings.HasPrefix(l, "FORGED") || strings.ContainsFunc(l, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
				t.Errorf("%q", l)
			}
		}
	}
}
