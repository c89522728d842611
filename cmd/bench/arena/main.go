package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"

	"github.com/foliomem/folio/cmd/bench/internal/touch"
	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/internal/system/procmem"
)

type config struct {
	depth, rounds     int
	smallest, largest int
	only              *regexp.Regexp
}

func main() {
	if touch.Asked() {
		exit(touch.Main())
	}
	var c config
	trees := flag.Bool("trees", false, "binary trees, in Go, C and Rust")
	objects := flag.Bool("objects", false, "the cost of an object, by its size and the arena's")
	scaling := flag.Bool("scaling", false, "what two threads allocate, of what one does")
	pool := flag.Bool("pool", false, "arena.Pool under several goroutines")
	handler := flag.Bool("handler", false, "a request handler that decodes into an arena")
	flag.IntVar(&c.depth, "depth", 21, "depth of the long lived tree")
	flag.IntVar(&c.rounds, "rounds", 0, "rounds (default 10; objects: 5, handler: 6)")
	flag.IntVar(&c.smallest, "smallest", 1<<10, "smallest arena of -objects in `bytes`")
	flag.IntVar(&c.largest, "largest", 1<<30, "largest arena of -objects in `bytes`")
	only := flag.String("only", "", "only arms whose name this `regexp` matches, new, and Folio's of -trees")
	flag.Parse()
	if flag.NArg() > 0 || !*trees && !*objects && !*scaling && !*pool && !*handler {
		fmt.Fprintln(os.Stderr, "arena: say what to measure: -trees, -objects, -scaling, -pool or -handler")
		os.Exit(2)
	}
	var err error
	if c.only, err = regexp.Compile(*only); err != nil {
		fmt.Fprintln(os.Stderr, "arena: -only:", err)
		os.Exit(2)
	}
	exit(run(c, []part{
		{*trees, 10, runTrees},
		{*objects, 5, runObjects},
		{*scaling, 10, runScaling},
		{*pool, 10, runPool},
		{*handler, 6, runHandler},
	}, os.Stdout))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "arena:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// part is one of the tables.
type part struct {
	on     bool
	rounds int
	run    func(config, *builder, io.Writer) error
}

func run(c config, parts []part, w io.Writer) error {
	if c.depth < minDepth+2 || c.depth > 40 {
		return fmt.Errorf("-depth %d: give a number from %d to 40", c.depth, minDepth+2)
	}
	dir, err := os.MkdirTemp("", "arena")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := newBuilder(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range parts {
		if p.on {
			c := c
			if c.rounds == 0 {
				c.rounds = p.rounds
			}
			errs = append(errs, p.run(c, b, w))
		}
	}
	return errors.Join(errs...)
}

// machine describes what was measured on, for the line above a table.
func machine() string {
	info, _ := host.Read(procmem.New("")) // what is unknown stays out
	s := fmt.Sprintf("%s, %d processors, Linux %s, %s", info.CPU, info.CPUs, info.Kernel, runtime.Version())
	if info.THPEnabled != nil {
		s += ", THP " + *info.THPEnabled
	}
	return s
}
