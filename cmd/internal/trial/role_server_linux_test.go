package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// roleServe (address, what=value...) is a server. What it does before it
// answers: touch MiB, burn ms, gc N cycles, child to start a process, linger
// to ignore TERM, deaf to never answer, die to end with an exit code. Under
// load, each request collects once; that for /die ends the server, and that for /fail is
// answered with an error. log=FILE gets a byte of each request that arrives.
func roleServe(words []string) error {
	var hold []byte
	deaf, garbage := false, 0
	var live []*node
	var log *os.File
	for _, w := range words[1:] {
		what, value, _ := strings.Cut(w, "=")
		n, _ := strconv.Atoi(value)
		switch what {
		case "touch":
			var err error
			if hold, err = touch(n, false); err != nil {
				return err
			}
		case "burn":
			burn(time.Duration(n) * time.Millisecond)
		case "gc":
			for range n {
				runtime.GC()
			}
		case "child":
			if err := exec.Command("sleep", "1000").Start(); err != nil {
				return err
			}
		case "linger":
			signal.Ignore(unix.SIGTERM)
		case "deaf":
			deaf = true
		case "live":
			for range n * mib / int(unsafe.Sizeof(node{})) {
				live = append(live, &node{})
			}
		case "garbage":
			garbage = n
		case "log":
			var err error
			if log, err = os.OpenFile(value, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
				return err
			}
		case "die":
			fmt.Fprintln(os.Stderr, "cannot read the configuration")
			os.Exit(n)
		default:
			return fmt.Errorf("no option %q", w)
		}
	}
	fmt.Println("prepared")
	if deaf {
		select {}
	}
	l, err := net.Listen("tcp", words[0])
	if err != nil {
		return err
	}
	var made atomic.Pointer[node]
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/die" {
			os.Exit(5)
		}
		if log != nil {
			_, _ = log.Write([]byte{'x'})
		}
		if garbage == 0 {
			runtime.GC()
		}
		for range garbage << 10 / int(unsafe.Sizeof(node{})) {
			made.Store(&node{})
		}
		if r.URL.Path == "/fail" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, "hello\n")
	}))
	runtime.KeepAlive(hold)
	runtime.KeepAlive(live)
	return err
}

// A node is what a heap of pointers is made of.
type node [8]*byte

// roleLoad (URL, requests) is a load generator.
func roleLoad(words []string) error {
	n := number(words, 1)
	for range n {
		resp, err := http.Get(words[0])
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		resp.Body.Close()
	}
	fmt.Printf("warm-up 1 ops\ntotal %d ops\n", n)
	return nil
}

// roleFolio (what) is a folio of its own, for what would end this process. It
// prints the samples as JSON, a line each, on standard error.
func roleFolio(words []string) error {
	report := func(p *subject) (err error) {
		if len(words) > 1 && words[1] == "limited" {
			if p.Cgroups, err = limits(512*mib, 2); err != nil {
				return err
			}
			defer p.Cgroups.Close()
		}
		setting := Setting{}
		if len(words) > 1 && words[1] == "heap" {
			setting.THP = THPHeap
		}
		s, err := p.Run(context.Background(), setting)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stderr).Encode(s)
	}
	switch words[0] {
	case "big": // its own memory must not be taken for the programs'
		mem, err := touch(number(words, 1), false)
		if err != nil {
			return err
		}
		defer runtime.KeepAlive(mem)
		forkOnly = len(words) > 2
		for _, p := range []*subject{shell(":"), shell("sleep 0.3"), role("touch", "200", "400")} {
			if err := report(p); err != nil {
				return err
			}
		}
	case "sampled":
		p := role("burn", "200")
		p.Profile = testRate
		return report(p)
	case "loaded":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		addr := l.Addr().String()
		l.Close()
		p := role("serve", addr)
		p.Server = &Server{run: punctual, Generator: &load.Options{URLs: []string{"http://" + addr + "/"}, Rate: 100, Duration: 200 * time.Millisecond}}
		if p.Server.Ready, err = ParseReady("tcp:" + addr); err != nil {
			return err
		}
		return report(p)
	case "sleep":
		p := shell("echo pid $$; exec sleep 1000")
		p.Stdout = os.Stdout
		return report(p)
	case "panic":
		p := shell("trap '' TERM; setsid sleep 1000 & (sleep 1000 &); sleep 1000 & echo now; wait")
		p.Stdout = panicWriter{}
		return report(p)
	case "signal":
		c := make(chan os.Signal, 2)
		signal.Notify(c, unix.SIGTERM)
		p := shell("trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.02; done")
		p.Signals, p.Stdout = c, os.Stdout
		return report(p)
	case "output":
		p := &subject{Program: Program{Command: []string{"yes"}, Stdout: os.Stdout}}
		return report(p)
	default:
		return errors.New("no such folio")
	}
	return nil
}

type panicWriter struct{}

func (panicWriter) Write([]byte) (int, error) { panic("the writer is broken") }
