package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/quiet"
	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/internal/system/procmem"
)

// handlerArms are the ways of examples/decodearena; the first is what the others are
// compared with.
var handlerArms = []string{"new", "sync.Pool", "arena"}

// handlerLoads are the orders that are sent, at rates that keep the server below half of a
// processor.
var handlerLoads = []struct {
	items int
	rate  float64
}{{3, 4000}, {30, 3000}, {300, 1200}}

const (
	handlerTime   = 3 * time.Second
	handlerWarmup = time.Second
)

// served is what one run of the server gave.
type served struct {
	perCPU   float64 // requests per CPU-second
	p50, p99 float64 // seconds
	rss      float64 // bytes, at the end
}

func runHandler(c config, b *builder, w io.Writer) error {
	progress("building the server")
	path, err := b.example("decodearena")
	if err != nil {
		return err
	}
	type cell struct{ load, arm int }
	var cells []cell
	for l := range handlerLoads {
		for a := range handlerArms {
			cells = append(cells, cell{l, a})
		}
	}
	samples := map[cell][]served{}
	for i := range c.rounds {
		progress("round %d of %d", i+1, c.rounds)
		err := quiet.Rounds(1, len(cells), func(_, j int) error {
			k := cells[j]
			s, err := serve(path, handlerArms[k.arm], handlerLoads[k.load].items, handlerLoads[k.load].rate)
			if err != nil {
				return fmt.Errorf("%s, %d items: %w", handlerArms[k.arm], handlerLoads[k.load].items, err)
			}
			samples[k] = append(samples[k], s)
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "A handler that decodes an order, %d rounds of %s; %s. In brackets 95%% intervals; ratios are round by round.\n\n", c.rounds,
		handlerTime, machine())
	t := table.New(w, "items", "requests/s", "arm", "requests per CPU-second", "of new's", "p50 us", "p99 us", "p99, of new's", "RSS MiB")
	for l, ld := range handlerLoads {
		values := func(a int, f func(served) float64) (out []float64) {
			for _, s := range samples[cell{l, a}] {
				out = append(out, f(s))
			}
			return out
		}
		perCPU := func(s served) float64 { return s.perCPU }
		p99 := func(s served) float64 { return s.p99 }
		for a, name := range handlerArms {
			r := stat.Summarize(values(a, perCPU))
			t.Row(fmt.Sprint(ld.items), fmt.Sprintf("%.0f", ld.rate), name, fmt.Sprintf("%.0f [%.0f, %.0f]", r.Median, r.Lo, r.Hi),
				times(stat.PairedRatio(values(0, perCPU), values(a, perCPU)), true),
				fmt.Sprintf("%.0f", 1e6*stat.Median(values(a, func(s served) float64 { return s.p50 }))),
				fmt.Sprintf("%.0f", 1e6*stat.Median(values(a, p99))),
				times(stat.PairedRatio(values(0, p99), values(a, p99)), true),
				fmt.Sprintf("%.0f", stat.Median(values(a, func(s served) float64 { return s.rss }))/(1<<20)))
		}
	}
	return nil
}

// example builds one of the examples.
func (b *builder) example(name string) (string, error) {
	path := b.dir + "/" + name
	_, err := output(b.root, nil, "go", "build", "-o", path, "./examples/"+name)
	return path, err
}

// serve runs the server under load.
func serve(path, with string, items int, rate float64) (s served, err error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, path, "-with", with, "-addr", "127.0.0.1:0")
	cmd.Env, cmd.Stderr = clean(), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	defer func() {
		stop()
		cmd.Wait() //nolint:errcheck // it was killed
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		return s, fmt.Errorf("the server said %q: %w", line, err)
	}
	body, err := order(ctx, addr, items)
	if err != nil {
		return s, err
	}
	cpu := func() (time.Duration, error) {
		st, err := procmem.New("").Stat(cmd.Process.Pid)
		return st.UTime + st.STime, err
	}
	var before time.Duration
	var beforeErr error
	r, err := load.Run(ctx, load.Options{
		URLs: []string{"http://" + addr + "/price"}, Body: body, Rate: rate, Duration: handlerTime, Warmup: handlerWarmup,
		Measuring: func() { before, beforeErr = cpu() },
	})
	after, afterErr := cpu()
	if err := errors.Join(err, beforeErr, afterErr); err != nil {
		return s, err
	}
	if r.Failed > 0 || r.Latency.P50 == nil || r.Latency.P99 == nil || after <= before {
		return s, fmt.Errorf("%d of %d requests failed: %v", r.Failed, r.Intended, r.Errors)
	}
	m, err := procmem.New("").Statm(cmd.Process.Pid)
	return served{
		perCPU: float64(r.Succeeded) / (after - before).Seconds(),
		p50:    *r.Latency.P50, p99: *r.Latency.P99,
		rss: float64(m.RSS),
	}, err
}

// order asks the server for an order to send.
func order(ctx context.Context, addr string, items int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/example?items=%d", addr, items), nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
