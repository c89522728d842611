// Command sparse measures what huge pages for the heap cost a program whose heap
// shrinks: what docs/exec.md says of it. It changes settings of khugepaged, as root, and
// puts them back.
//
//	go run ./cmd/bench/exec/sparse [-mib 512] [-wait 30s] [-rounds 3]
//
// khugepaged scans as fast as it can, so that what takes it minutes by default is done
// within the time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
)

const khugepaged = "/sys/kernel/mm/transparent_hugepage/khugepaged/"

func main() {
	mib := flag.Int("mib", 512, "size of the heap at its peak")
	wait := flag.Duration("wait", 30*time.Second, "how long to wait for khugepaged")
	rounds := flag.Int("rounds", 3, "rounds")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *mib, *wait, *rounds)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sparse:", err)
		os.Exit(1)
	}
}

// set writes a setting and returns what puts it back.
func set(name, value string) (restore func() error, err error) {
	path := khugepaged + name
	old, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, []byte(value), 0); err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(path, old, 0) }, nil
}

func run(ctx context.Context, mib int, wait time.Duration, rounds int) (err error) {
	dir, err := os.MkdirTemp("", "folio-sparse-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	folio, program := filepath.Join(dir, "folio"), filepath.Join(dir, "sparse")
	for _, args := range [][]string{{"build", "-o", folio, "./cmd/folio"},
		{"build", "-C", "cmd/bench/exec/sparse/testdata/sparse", "-o", program, "."}} {
		if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w: %s", args, err, out)
		}
	}
	for name, value := range map[string]string{"pages_to_scan": "100000", "scan_sleep_millisecs": "10", "max_ptes_none": "0"} {
		restore, err2 := set(name, value)
		if err2 != nil {
			return fmt.Errorf("%w: run it as root", err2)
		}
		defer func() { err = errors.Join(err, restore()) }()
	}
	type key struct{ limit, arm string }
	figures := map[key][3][]float64{}
	limits, arms := []string{"0", "511"}, []string{"default", "--thp heap"}
	for range rounds {
		for _, limit := range limits {
			if err := os.WriteFile(khugepaged+"max_ptes_none", []byte(limit), 0); err != nil {
				return err
			}
			for _, arm := range arms {
				args := []string{program, fmt.Sprint(mib), wait.String()}
				if arm != "default" {
					args = append(strings.Fields(folio+" exec --strict "+arm+" --"), args...)
				}
				out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
				var v [3]float64
				if err == nil {
					_, err = fmt.Sscan(string(out), &v[0], &v[1], &v[2])
				}
				if err != nil {
					return fmt.Errorf("%s: %w: %s", arm, err, out)
				}
				f := figures[key{limit, arm}]
				for i := range v {
					f[i] = append(f[i], v[i]/(1<<20))
				}
				figures[key{limit, arm}] = f
			}
		}
	}
	t := table.New(os.Stdout, "max_ptes_none", "arm", "peak RSS", "RSS after the heap shrank", fmt.Sprintf("RSS %v later", wait))
	for _, limit := range limits {
		for _, arm := range arms {
			f := figures[key{limit, arm}]
			t.Rowf("%s | %s | %.0f MiB | %.0f MiB | %.0f MiB", limit, arm, stat.Median(f[0]), stat.Median(f[1]), stat.Median(f[2]))
		}
	}
	return nil
}
