package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

const (
	bound    = 0.02 // by how much a sum or a part may be off at rest
	readings = 20   // of a program that works
	patience = 2 * time.Minute
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", filepath.Join(os.TempDir(), "folio-bench-waterfall"), "where programs are built, and stay")
	releases := flag.String("go", "", "releases of Go to build with, such as go1.21.13,go1.27.4 (default the one that is here)")
	build := flag.String("build", "", "only builds of this `name`: plain, stripped, or \"stripped, pie\" (default each)")
	costs := flag.String("cost", "", "measure what reading costs instead, on a program with a heap of this `size`")
	watch := flag.Duration("watch", 30*time.Second, "with -cost: how long folio inspect --watch is measured")
	role := flag.Int("target", 0, "be that program, with a heap of so many bytes")
	flag.Parse()
	if *role > 0 {
		target(*role)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *costs != "" {
		size, err := unit.ParseSize(*costs)
		if err == nil {
			err = os.MkdirAll(*dir, 0o755)
		}
		if err == nil {
			err = cost(ctx, *dir, size, *watch)
		}
		if err != nil {
			stop()
			log.Fatal(err)
		}
		return
	}
	if err := run(ctx, *dir, strings.Split(*releases, ","), *build, flag.Args()); err != nil {
		stop()
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, releases []string, build string, names []string) error {
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return err
	}
	tb := table.New(os.Stdout, "program", "Go", "build", "RSS", "sum", "part", "working: a reading", "RSS moved", "parts moved", "held by answers")
	var off []string
	for _, p := range all {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		for _, release := range releases {
			for _, w := range ways {
				if build != "" && build != w.name {
					continue
				}
				row, err := one(ctx, dir, p, release, w)
				var needs needsError
				switch {
				case errors.As(err, &needs):
					log.Printf("%s is left out of %s: %v", p.name, release, err)
				case err != nil:
					return fmt.Errorf("%s, %s, %s: %w", p.name, release, w.name, err)
				default:
					tb.Row(row.cells(p.name, w.name)...)
					if !(row.sum <= bound) || !(row.part <= bound) {
						off = append(off, p.name+" "+w.name)
					}
				}
			}
		}
	}
	if len(off) > 0 {
		return fmt.Errorf("off by more than %s: %s", unit.Percent(bound), strings.Join(off, ", "))
	}
	return nil
}

// A row is what was seen of a program.
type row struct {
	version   string
	rss       uint64
	sum, part float64 // off by, at rest
	of        string  // which part

	took, moved, parts []float64 // of the readings while it works
	held, answers      int
}

func (r *row) cells(name, way string) []string {
	return []string{name, strings.TrimPrefix(r.version, "go"), way, unit.Size(r.rss), unit.Percent(r.sum), unit.Percent(r.part) + " " + r.of,
		unit.Seconds(stat.Median(r.took)), unit.Percent(slices.Max(r.moved)), unit.Percent(slices.Max(r.parts)),
		fmt.Sprintf("%d of %d", r.held, r.answers)}
}

// A server is a program that runs and says its metrics.
type server struct {
	cmd *exec.Cmd
	in  io.Closer
	ask *os.File
	say *bufio.Reader

	ended chan struct{}
}

func start(ctx context.Context, path, dir string, args []string) (*server, error) {
	in, ask, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	said, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	s := &server{cmd: exec.CommandContext(ctx, path, args...), ask: ask, say: bufio.NewReader(said)}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "FOLIO_BENCH_SAY=1", "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir, "GOMEMLIMIT=", "GOGC=")
	s.cmd.ExtraFiles = []*os.File{in, out}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if s.in, err = s.cmd.StdinPipe(); err != nil { // esbuild ends with its input
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.ended = make(chan struct{})
	go func() { defer close(s.ended); _ = s.cmd.Wait() }()
	return s, nil
}

func (s *server) end() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	<-s.ended
	s.in.Close()
	s.ask.Close()
}

// metrics are what the program says now, by name without the unit.
func (s *server) metrics() (map[string]uint64, error) {
	if _, err := s.ask.Write([]byte{1}); err != nil {
		return nil, err
	}
	line, err := s.say.ReadString('\n')
	if err != nil {
		return nil, err
	}
	out := map[string]uint64{}
	for _, word := range strings.Fields(line) {
		name, value, _ := strings.Cut(word, "=")
		name, _, _ = strings.Cut(name, ":")
		if out[name], err = strconv.ParseUint(value, 10, 64); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// truth are the parts of the Go runtime by what the program says.
func (s *server) truth() (map[waterfall.Kind]uint64, error) {
	m, err := s.metrics()
	if err != nil {
		return nil, err
	}
	const classes = "/memory/classes/"
	sum := func(names ...string) (n uint64) {
		for _, name := range names {
			n += m[classes+name]
		}
		return n
	}
	live := min(m["/gc/heap/live"], sum("heap/objects"))
	return map[waterfall.Kind]uint64{
		waterfall.Live: live, waterfall.Since: sum("heap/objects") - live, waterfall.Unused: sum("heap/unused"), waterfall.Free: sum("heap/free"),
		waterfall.Repopulated: sum("heap/released"), waterfall.Stacks: sum("heap/stacks", "os-stacks"),
		waterfall.Metadata: sum("metadata/mcache/free", "metadata/mcache/inuse", "metadata/mspan/free", "metadata/mspan/inuse",
			"metadata/other", "other", "profiling/buckets"),
	}, nil
}

func one(ctx context.Context, dir string, p program, release string, w way) (*row, error) {
	bin, err := p.build(ctx, dir, release, w)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(dir, "run-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	if err := prepare(work); err != nil {
		return nil, err
	}
	addr, err := free()
	if err != nil {
		return nil, err
	}
	s, err := start(ctx, bin, work, p.args(work, addr))
	if err != nil {
		return nil, err
	}
	defer s.end()
	l := &loader{addr: addr, dir: work}
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if err = p.load(ctx, l); err == nil {
			break
		}
		gone := false
		select {
		case <-s.ended:
			gone = true
		default:
		}
		if gone || l.conn != nil || time.Since(begin) > patience || ctx.Err() != nil {
			text, _ := os.ReadFile(filepath.Join(work, "log"))
			return nil, fmt.Errorf("%w; it printed %.500s", err, text)
		}
	}
	system := inspect.New()
	watcher := system.Watch(s.cmd.Process.Pid, inspect.Options{Brief: true})
	defer watcher.Close()
	r := &row{version: release}
	if release == "" {
		r.version = runtime.Version()
	}
	if err := r.rest(s, watcher, system.FS); err != nil {
		return nil, err
	}
	return r, r.work(ctx, p, s, l, watcher)
}

// free returns an address at which nothing listens.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// read reads the memory of a program, between two of its answers.
func read(s *server, w *inspect.Watcher) (before, after map[waterfall.Kind]uint64, fall *waterfall.Waterfall, err error) {
	if before, err = s.truth(); err != nil {
		return nil, nil, nil, err
	}
	p, err := w.Read()
	if err != nil {
		return nil, nil, nil, err
	}
	if p.Waterfall == nil || len(p.Notes) > 0 {
		return nil, nil, nil, fmt.Errorf("it cannot be read: %q", p.Notes)
	}
	after, err = s.truth()
	return before, after, p.Waterfall, err
}

// least is what counts as a part of its own: less is compared with that.
const least = 1 << 20

// rest waits until the program is at rest, and compares.
func (r *row) rest(s *server, w *inspect.Watcher, fs procmem.FS) error {
	for begin := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		before, after, fall, err := read(s, w)
		if err != nil {
			return err
		}
		mappings, err := fs.Mappings(s.cmd.Process.Pid)
		if err != nil {
			return err
		}
		moved := false
		for k, n := range before {
			moved = moved || differ(n, after[k]) > bound/4
		}
		if !moved || time.Since(begin) > patience {
			if moved {
				return errors.New("it is never at rest")
			}
			r.compare(fall, after, mappings)
			return nil
		}
	}
}

func differ(a, b uint64) float64 {
	return float64(max(a, b)-min(a, b)) / float64(max(a, b, least))
}

func (r *row) compare(fall *waterfall.Waterfall, truth map[waterfall.Kind]uint64, mappings []procmem.Mapping) {
	sum, rss := int64(0), uint64(0)
	for _, p := range fall.Parts {
		if p.Kind != waterfall.Changed { // what fits nowhere is not a part
			sum += p.Bytes
		}
	}
	for _, m := range mappings {
		rss += m.Rss
	}
	r.rss, r.sum = rss, differ(uint64(max(sum, 0)), rss)
	for _, k := range slices.Sorted(keys(truth)) {
		say := fall.Part(k).Runtime
		if say == nil {
			r.part, r.of = 1, k.Title()
			return
		}
		if d := differ(*say, truth[k]); d > r.part || r.of == "" {
			r.part, r.of = d, k.Title()
		}
	}
}

func keys(m map[waterfall.Kind]uint64) func(yield func(waterfall.Kind) bool) {
	return func(yield func(waterfall.Kind) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// work reads the program while it works.
func (r *row) work(ctx context.Context, p program, s *server, l *loader, w *inspect.Watcher) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			l.turn++
			if err := p.load(ctx, l); err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
				done <- err
				return
			}
		}
		done <- nil
	}()
	err := func() error {
		for range readings {
			time.Sleep(100 * time.Millisecond)
			before, after, fall, err := read(s, w)
			if err != nil {
				return err
			}
			last := fall.Readings[len(fall.Readings)-1]
			r.took = append(r.took, last.To.Seconds())
			moved, parts := fall.Part(waterfall.Changed).Bytes, uint64(0)
			if fall.Drift != nil {
				moved = max(moved, -moved, *fall.Drift, -*fall.Drift)
			}
			for k, n := range before {
				part := fall.Part(k)
				parts = max(parts, *part.Uncertainty)
				lo, hi := min(n, after[k]), max(n, after[k])
				r.answers++
				// The uncertainty is of the time in between, the answers of the time around it.
				if *part.Runtime+*part.Uncertainty >= lo && *part.Runtime <= hi+*part.Uncertainty {
					r.held++
				}
			}
			r.moved = append(r.moved, float64(max(moved, -moved))/float64(fall.RSS))
			r.parts = append(r.parts, float64(parts)/float64(fall.RSS))
		}
		return nil
	}()
	cancel()
	if l.conn != nil {
		l.conn.Close()
	}
	return errors.Join(err, <-done)
}
