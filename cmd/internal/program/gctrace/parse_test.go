package gctrace

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, line string
		want       Cycle
	}{
		{"go1.9", "gc 1 @0.021s 0%: 0.15+0.37+0.25 ms clock, 3.0+0.19/0.39/0.60+5.0 ms cpu, 4->4->0 MB, 5 MB goal, 48 P", Cycle{
			N: 1, At: 21 * ms,
			SweepTermClock: 150 * us, MarkClock: 370 * us, MarkTermClock: 250 * us,
			SweepTermCPU: 3 * ms, AssistCPU: 190 * us, BackgroundCPU: 390 * us, IdleCPU: 600 * us, MarkTermCPU: 5 * ms,
			HeapStart: 4 << 20, HeapEnd: 4 << 20, Goal: 5 << 20, Procs: 48,
		}},
		{"go1.12 forced", "gc 20 @12.345s 4%: 0.005+10+0 ms clock, 0.010+0/9.9/123+0.099 ms cpu, 100->120->60 MB, 121 MB goal, 2 P (forced)", Cycle{
			N: 20, At: 12345 * ms, Percent: 4,
			SweepTermClock: 5 * us, MarkClock: 10 * ms,
			SweepTermCPU: 10 * us, BackgroundCPU: 9900 * us, IdleCPU: 123 * ms, MarkTermCPU: 99 * us,
			HeapStart: 100 << 20, HeapEnd: 120 << 20, HeapLive: 60 << 20, Goal: 121 << 20, Procs: 2, Forced: true,
		}},
		{"go1.18", "gc 7 @0.100s 11%: 0.010+1.2+0.003 ms clock, 0.020+0.50/1.0/0+0.006 ms cpu, 3->4->1 MB, 4 MB goal, 1 MB stacks, 2 MB globals, 2 P", Cycle{
			N: 7, At: 100 * ms, Percent: 11,
			SweepTermClock: 10 * us, MarkClock: 1200 * us, MarkTermClock: 3 * us,
			SweepTermCPU: 20 * us, AssistCPU: 500 * us, BackgroundCPU: 1 * ms, MarkTermCPU: 6 * us,
			HeapStart: 3 << 20, HeapEnd: 4 << 20, HeapLive: 1 << 20, Goal: 4 << 20,
			Stacks: 1 << 20, Globals: 2 << 20, HasStacks: true, Procs: 2,
		}},
		{"go1.26 leak check", "gc 3 @1.000s 0% (checking for goroutine leaks): 0+0+0 ms clock, 0+0/0/0+0 ms cpu, 0->0->0 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 4 P (forced)", Cycle{
			N: 3, At: time.Second, Goal: 4 << 20, HasStacks: true, Procs: 4, Forced: true, LeakCheck: true,
		}},
	}
	for _, tt := range tests {
		for _, end := range []string{"", "\n"} {
			got, err := Parse([]byte(tt.line + end))
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			if got != tt.want {
				t.Errorf("%s:\n got %+v\nwant %+v", tt.name, got, tt.want)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	const good = "gc 1 @0.021s 0%: 0.15+0.37+0.25 ms clock, 3.0+0.19/0.39/0.60+5.0 ms cpu, 4->4->0 MB, 5 MB goal, 48 P"
	tests := []struct{ old, new, want string }{
		{good, "", `expected "gc " at byte 0`},
		{good, "gc ", "expected a number at byte 3"},
		{"gc 1", "gc x", "expected a number at byte 3"},
		{"gc 1", "gc 01", "expected a number without leading zeros at byte 3"},
		{"gc 1", "gc 99999999999999999999", "expected a number up to 9223372036854775807 at byte 3"},
		{" @", " #", `expected " @" at byte 4`},
		{"0.021s", "0.02s", "expected 3 decimals at byte 10"},
		{"0%", "-0%", "expected a number other than 0 after the minus at byte 14"},
		{"0.15+", "0.1+", "expected 2 decimals at byte 20"},
		{"0.15+", "0.000+", "expected a duration other than zero at byte 17"},
		{"0.15+", "5+", `expected "." at byte 18`},
		{"0.15+", "12.5+", `expected "+" at byte 19`},
		{"ms clock", "s clock", `expected " ms clock, " at byte 31`},
		{"->0 MB", "->17592186044416 MB", "expected a number up to 17592186044415 at byte 79"},
		{"48 P", "48 P (Forced)", "expected the end of the line at byte 100"},
		{"48 P", "48 P\n\n", "expected the end of the line at byte 101"},
		{"48 P", "3000000000 P", "expected a number of processors in range at byte 96"},
	}
	if _, err := Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		line := strings.Replace(good, tt.old, tt.new, 1)
		_, err := Parse([]byte(line))
		if err == nil || err.Error() != "gctrace: parse line: "+tt.want {
			t.Errorf("%q:\n got %v\nwant %s", line, err, tt.want)
		}
	}
}

// recorded returns the lines of testdata, which real programs printed.
func recorded(t testing.TB) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded traces: %v", err)
	}
	all := make(map[string][]string)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			all[name] = append(all[name], s.Text())
		}
	}
	return all
}

func TestParseRecorded(t *testing.T) {
	for name, lines := range recorded(t) {
		for i, line := range lines {
			if c, err := Parse([]byte(line)); err != nil || c.N < 1 {
				t.Errorf("%s:%d: cycle %d, %v\n%s", name, i+1, c.N, err, line)
			}
		}
	}
}

// Lines that stand by themselves count, and where there were more it is known.
func TestCounter(t *testing.T) {
	line := func(n int) string {
		return fmt.Sprintf("gc %d @0.%03ds 1%%: 0.15+0.37+0.25 ms clock, 3.0+0.19/0.39/0.60+5.0 ms cpu, 4->4->2 MB, 5 MB goal, 2 P\n", n, n)
	}
	for _, tt := range []struct {
		name, text string
		cycles     int
		gaps       bool
	}{
		{"nothing", "hello\n", 0, false},
		{"all", "hello\n" + line(1) + "text\n" + line(2), 2, false},
		{"the last without an end", line(1) + strings.TrimSuffix(line(2), "\n"), 2, false},
		{"text before one", line(1) + "text" + line(2) + line(3), 2, true},
		{"one is missing", line(1) + line(3), 2, true},
		{"two processes", line(1) + line(1) + line(2), 3, true},
		{"a long line", strings.Repeat("x", 5000) + "\n" + line(1), 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Counter
			for rest := tt.text; rest != ""; { // in pieces, as the runtime writes
				n := min(7, len(rest))
				_, _ = c.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			c.End()
			if c.Cycles != tt.cycles || c.Gaps != tt.gaps {
				t.Errorf("got %d cycles, gaps %v; want %d, %v", c.Cycles, c.Gaps, tt.cycles, tt.gaps)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	var s Summary
	if s != (Summary{}) || s.Cycles != 0 {
		t.Fatal("the zero value counts something")
	}
	a := Cycle{SweepTermClock: 3, MarkClock: 100, MarkTermClock: 5, SweepTermCPU: 1, AssistCPU: 2, BackgroundCPU: 4,
		IdleCPU: 8, MarkTermCPU: 16, HeapEnd: 7, HeapLive: 3}
	b := Cycle{SweepTermClock: 9, HeapEnd: 5, HeapLive: 4, Forced: true}
	if total := a.Pause(); total != 8 {
		t.Errorf("Pause: got %d", total)
	}
	s.Add(a)
	s.Add(b)
	want := Summary{Cycles: 2, Forced: 1, CPU: 31, IdleCPU: 8, AssistCPU: 2, PauseCPU: 17, PauseTotal: 17, PauseMax: 9,
		HeapPeak: 7, LivePeak: 4, HeapSum: 12, LiveSum: 7}
	if s != want {
		t.Errorf("got %+v\nwant %+v", s, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, lines := range recorded(f) {
		f.Add([]byte(lines[0]))
		f.Add([]byte(lines[len(lines)-1] + "\n"))
	}
	f.Add([]byte("gc 1 @0.021s -3% (checking for goroutine leaks): 0.15+10+0.099 ms clock, 3.0+0.19/0/0.60+5.0 ms cpu, 4->4->0 MB, 5 MB goal, 48 P (forced)"))
	f.Fuzz(func(t *testing.T, line []byte) {
		c, err := Parse(line)
		if err == nil && (c.N < 0 || c.Clock() < 0 || c.CPU() < 0 || c.HeapEnd%(1<<20) != 0) {
			t.Fatalf("%q: %+v", line, c)
		}
	})
}
