package rounds

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/test/cgrouptest"
	"github.com/foliomem/folio/internal/test/testenv"
)

const mib = 1 << 20

func TestMain(m *testing.M) {
	testenv.PlayRole(map[string]func() error{"driver": driver, "beside": beside})
	os.Exit(m.Run())
}

// driver is the driver of a pod, once its container has its limit.
func driver() error {
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	plan, err := ParsePlan(os.Getenv(PlanEnv))
	if err != nil {
		return err
	}
	limit, _, err := procmem.FS{}.MemoryLimit(0)
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	defer trial.EndAll()
	if err := os.Setenv(testenv.RoleEnv, "beside"); err != nil {
		return err
	}
	d := &Driver{Plan: plan, Log: os.Stdout, Container: &limit, Program: &trial.Program{Command: []string{exe}, Env: Environ(os.Environ())}}
	return d.Run(context.Background())
}

// beside has 300 MiB beside its heap.
func beside() error {
	b, err := unix.Mmap(-1, 0, 300*mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return err
	}
	heap := make([]byte, 20*mib)
	runtime.GC()
	time.Sleep(time.Second) // it is read
	runtime.KeepAlive(heap)
	runtime.KeepAlive(b) // and is not released before the end: that reading would count
	return nil
}

// A memory limit that does not fit beside what the program has outside its heap is left out before
// it has the container killed, with the one that fits.
func TestLimitMustFit(t *testing.T) {
	group := cgrouptest.WithMemory(t, 512*mib)
	plan, err := json.Marshal(planOf(t, 1, "GOGC=off GOMEMLIMIT=460MiB", "GOMEMLIMIT=100MiB"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := testenv.Role(t, "driver", PlanEnv+"="+string(plan))
	cmd.Stderr = os.Stderr
	in, out := testenv.Start(t, cmd)
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if err := group.Join(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in)
	log, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	lines := linesOf(t, log)
	if got := kinds(lines); !slices.Equal(got, []Kind{Begin, Out, Round, End}) {
		t.Fatalf("%s", log)
	}
	want := "GOMEMLIMIT=460MiB does not fit into the container, GOMEMLIMIT="
	if l := lines[1]; l.Setting != 1 || !strings.HasPrefix(l.Reason, want) || !strings.Contains(l.Reason, "512.0MiB less ") {
		t.Errorf("%+v, want %q", l, want)
	}
	if runs := lines[2].Runs; len(runs) != 2 || runs[0].Setting != 0 || runs[1].Setting != 2 || runs[0].Failure != "" || runs[1].Failure != "" {
		t.Errorf("%+v", runs)
	}
}
