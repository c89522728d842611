package procmem

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStat(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		fixture string
		pid     int
		want    Stat
	}{
		{"linux-5.10", 8024, Stat{PID: 8024, Comm: "tmux: server) (x", State: 'R', PPID: 8020, PGRP: 8021, Session: 7045,
			MinFlt: 102, CMinFlt: 11, MajFlt: 3, CMajFlt: 4, UTime: 1500 * ms, STime: 200 * ms, CUTime: 50 * ms,
			CSTime: 60 * ms, Threads: 7, StartTime: 716540 * ms}},
		{"linux-5.10", 8030, Stat{PID: 8030, Comm: "worker", State: 'Z', PPID: 8024, PGRP: 8021, Session: 7045,
			MinFlt: 90, UTime: 10 * ms, STime: 20 * ms, Threads: 1, StartTime: 717000 * ms}},
		{"linux-6.1-arm64-64k", 31003, Stat{PID: 31003, Comm: "server", State: 'S', PPID: 1, PGRP: 31003, Session: 31003,
			MinFlt: 24000, MajFlt: 12, UTime: 82 * time.Second, STime: 9 * time.Second, Threads: 12, StartTime: 9912 * time.Second}},
		{"linux-6.18", 4242, Stat{PID: 4242, Comm: "cat", State: 'R', PPID: 4200, PGRP: 4242, Session: 7045,
			MinFlt: 102, Threads: 1, StartTime: 716540 * ms}},
		{"minimal", 77, Stat{PID: 77, Comm: "init", State: 'S', PPID: 0, PGRP: 1, Session: 1,
			MinFlt: 5, CMinFlt: 6, MajFlt: 7, CMajFlt: 8, UTime: 90 * ms, STime: 100 * ms, CUTime: 110 * ms,
			CSTime: 120 * ms, Threads: 1, StartTime: 30 * ms}},
	} {
		got, err := fixture(c.fixture).Stat(c.pid)
		if err != nil || got != c.want {
			t.Errorf("%s: Stat(%d) = %+v, %v\nwant %+v", c.fixture, c.pid, got, err, c.want)
		}
	}
}

const statTail = ") R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"

func TestStatNames(t *testing.T) {
	for _, name := range []string{"", " ", ")", "(", ") R 1 2 3", "a\nb", "\xff", "()()"} {
		s, err := parseStat([]byte("5 (" + name + statTail + "\n"))
		if err != nil || s.Comm != name || s.PPID != 1 {
			t.Errorf("name %q: %+v, %v", name, s, err)
		}
	}
}

func TestStatErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "no (name)",
		"5 )x(" + statTail[1:]:     "no (name)",
		"x (y" + statTail:          "pid:",
		"5 (y) R 1 2 3":            "4 fields after the name, want 20",
		"5 (y) RR" + statTail[3:]:  "state",
		"5 (y) R x" + statTail[5:]: "field 4:",
		"5 (y) R 1 2 3 4 5 6 7 8 9 10 -1 12 13 14 15 16 17 18 19":                   "field 14:",
		"5 (y) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 18446744073709551615": "field 22: value out of range",
	} {
		_, err := parseStat([]byte(in))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("parseStat(%q) = %v, want %s", in, err, want)
		}
	}
}

func TestZombie(t *testing.T) {
	for _, c := range []struct {
		state   byte
		threads int
		want    bool
	}{{'R', 1, false}, {'Z', 1, true}, {'Z', 0, true}, {'Z', 2, false}, {'X', 1, true}} {
		if got := (Stat{State: c.state, Threads: c.threads}).Zombie(); got != c.want {
			t.Errorf("state %c with %d threads: zombie = %v", c.state, c.threads, got)
		}
	}
}

// A thread of the kernel, a process that is ending, and one whose other threads go on
// have no memory in their status, each for its own reason.
func TestNoMemory(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "proc/9"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		state   string
		flags   uint64
		threads int
		want    error
	}{
		{"S", 0x208040, 1, ErrKernelThread}, // kthreadd
		{"I", 0x4208060, 1, ErrKernelThread},
		{"R", 0x40000c, 1, ErrEnding}, // PF_EXITING, between freeing its memory and its end
		{"R", 0x400000, 1, ErrEnding},
		{"Z", 0x40000c, 1, ErrEnding},
		{"Z", 0x40000c, 3, ErrMainThread},
		{"X", 0x40000c, 3, ErrEnding},
	} {
		text := fmt.Sprintf("9 (x) %s 1 9 9 0 -1 %d 0 0 0 0 0 0 0 0 20 0 %d 0 5\n", c.state, c.flags, c.threads)
		if err := os.WriteFile(filepath.Join(dir, "proc/9/stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := New(dir).NoMemory(9); err != c.want {
			t.Errorf("state %s, flags %#x, %d threads: %v, want %v", c.state, c.flags, c.threads, err, c.want)
		}
	}
	if err := New(dir).NoMemory(10); !Gone(err) {
		t.Errorf("one that is gone: %v", err)
	}
}

func FuzzStat(f *testing.F) {
	seed(f, "proc/[0-9]*/stat")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseStat(data)
		if err != nil {
			return
		}
		if min(s.UTime, s.STime, s.CUTime, s.CSTime) < 0 || s.StartTime < 0 {
			t.Errorf("negative time: %+v", s)
		}
		if !bytes.Contains(data, []byte("("+s.Comm+")")) {
			t.Errorf("name %q is not in the file", s.Comm)
		}
	})
}
