package perf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestAttach(t *testing.T) {
	needPerf(t)
	cmd := roleCmd("serve", "parent")
	in1, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	pid, child := cmd.Process.Pid, 0
	lines := bufio.NewScanner(out)
	for range 2 {
		if !lines.Scan() {
			t.Fatal("the program ended")
		}
		var p int
		if fmt.Sscanf(lines.Text(), "ready %d", &p); p != pid {
			child = p
		}
	}
	before := openFiles(t)
	s, err := Attach(pid, Config{Faults: true})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(in1, "go")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	l := &log{}
	if err := s.Drain(l.handler()); err != nil {
		t.Fatal(err)
	}
	check(t, l)
	want := []string{fmt.Sprintf("exec %d exe", pid), fmt.Sprintf("fork %d %d", child, pid), fmt.Sprintf("exec %d exe", child)}
	if len(l.events) != 5 || !slices.Equal(l.events[:3], want) {
		t.Fatalf("events %q, want %q and two exits", l.events, want)
	}
	for _, p := range []int{pid, child} {
		if !slices.ContainsFunc(l.maps, func(m Mapping) bool { return m.PID == p && contains(m, uint64(funcAddr())) }) {
			t.Errorf("no mapping of the program in process %d", p)
		}
		tids := map[int]uint64{}
		for i := range l.samples {
			if s := &l.samples[i]; s.PID == p && s.Kind == CPU && in("spin")(s) {
				tids[s.TID] += s.Period
			}
		}
		// Three threads were there and one came later. Events that are opened
		// twice for a thread would count twice.
		if len(tids) != 4 {
			t.Errorf("process %d: samples of %d threads, want 4", p, len(tids))
		}
		for tid, period := range tids {
			if !s.Info().Hardware && period > 75e6 {
				t.Errorf("thread %d of %d: samples of %d ms, it used 50", tid, p, period/1e6)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if after := openFiles(t); !maps.Equal(before, after) {
		t.Errorf("open before %v, after %v", before, after)
	}
}

// Threads that start while a process is attached to are sampled once, not twice
// and not never.
func TestAttachWhileThreadsStart(t *testing.T) {
	needPerf(t)
	cmd := roleCmd("churn", "4ms")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if !bufio.NewScanner(out).Scan() {
		t.Fatal("the program ended")
	}
	for range 10 {
		s, err := Attach(cmd.Process.Pid, Config{Frequency: 4000})
		if err != nil {
			t.Fatal(err)
		}
		// Two threads run at a time: the third is one that started later.
		type place struct{ tid, cpu int }
		byTID, times := map[int]bool{}, map[place][]uint64{}
		for begin := time.Now(); len(byTID) < 3 && time.Since(begin) < testenv.Patience; {
			time.Sleep(50 * time.Millisecond)
			l := &log{}
			if err := s.Drain(l.handler()); err != nil {
				t.Fatal(err)
			}
			check(t, l)
			for i := range l.samples {
				if sample := &l.samples[i]; in("spin")(sample) {
					byTID[sample.TID] = true
					p := place{sample.TID, sample.CPU}
					times[p] = append(times[p], sample.Time)
				}
			}
		}
		// Of samples every 250 µs from each of two events, at least every other is
		// less than half of that behind the one before.
		for p, list := range times {
			near := 0
			for i := 1; i < len(list); i++ {
				if list[i]-list[i-1] <= 125_000 {
					near++
				}
			}
			if !s.Info().Hardware && len(list) > 8 && near*5 > len(list)*2 {
				t.Errorf("thread %d has its events twice: %d of %d samples follow too soon", p.tid, near, len(list))
			}
		}
		if len(byTID) < 3 {
			t.Errorf("samples of %d threads: those that start later should have some, too", len(byTID))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAttachErrors(t *testing.T) {
	needPerf(t)
	_, err := Attach(1<<30, Config{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Cause != Gone {
		t.Errorf("no such process: %v", err)
	}
	for _, cfg := range []Config{{Frequency: -1}, {RingBytes: 1}, {RingBytes: 3 * os.Getpagesize()}} {
		if _, err := Attach(os.Getpid(), cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
