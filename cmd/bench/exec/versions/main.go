// Command versions builds programs with every release line of Go from 1.21 on,
// in the ways in which they are shipped, and checks what package codepatch makes
// of each: which are accepted, that the patched copy runs, and that its heap
// asks for huge pages as the program's own does not.
//
//	go run ./cmd/bench/exec/versions [-write] [-keep dir] [release...]
//
// It downloads the toolchains (GOTOOLCHAIN). Programs for arm64 run under
// qemu-aarch64; those with C in them need aarch64-linux-gnu-gcc. With -write it
// stores the listings of the functions (cmd/internal/program/codepatch/forms) and the
// fixtures of the tests: look at what changes before it is committed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/codepatch/fixture"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

func main() {
	write := flag.Bool("write", false, "write the forms and the fixtures of cmd/internal/program/codepatch")
	keep := flag.String("keep", "", "build in this `directory` and leave the programs there")
	flag.Parse()
	list := releases
	if flag.NArg() > 0 {
		list = flag.Args()
		if *write {
			fmt.Fprintln(os.Stderr, "versions: -write needs all releases")
			os.Exit(2)
		}
	}
	if err := run(context.Background(), list, *keep, *write); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, list []string, dir string, write bool) error {
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "folio-versions-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	store := newStore()
	failed := 0
	t := table.New(os.Stdout, "release", "program", "accepted", "stock heap advised", "patched heap advised")
	for _, release := range list {
		for _, m := range modes() {
			source, err := copySource(dir, m.cgo)
			if err != nil {
				return err
			}
			program, err := build(ctx, release, m, source, dir)
			if err != nil {
				return err
			}
			if write {
				if err := store.add(release, m, program); err != nil {
					return err
				}
			}
			row, err := check(ctx, release, m, program, write)
			if err != nil {
				failed++
				row = [3]string{"**" + err.Error() + "**"}
			}
			t.Row("go"+release, m.arch+", "+m.name, row[0], row[1], row[2])
		}
	}
	if write {
		if err := store.write(); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d programs are not as they should be", failed)
	}
	return nil
}

// check looks at one program, and runs it as it is and patched. With only it
// does not run, since the forms are not known yet.
func check(ctx context.Context, release string, m mode, program string, only bool) (row [3]string, err error) {
	p, err := codepatch.Open(program)
	var refused *codepatch.RefusedError
	switch {
	case release == "1.21.5":
		if !errors.As(err, &refused) || refused.Kind != codepatch.TooOld {
			return row, fmt.Errorf("want it refused as too old: %v", err)
		}
		return [3]string{"no: " + refused.Why}, nil
	case only:
		return [3]string{"stored"}, nil
	case err != nil:
		return row, err
	case p.Applied || len(p.Edits) != 2 || p.GoVersion != "go"+release || p.Arch != m.arch:
		return row, fmt.Errorf("found %+v", p)
	}
	copied := program + ".huge"
	if _, err := codepatch.Copy(program, copied); err != nil {
		return row, err
	}
	if p, err := codepatch.Open(copied); err != nil || !p.Applied {
		return row, fmt.Errorf("the copy is not recognized: %v", err)
	}
	if m.arch == "arm64" && m.name == "race" {
		return [3]string{"yes", "not run: the race detector needs a real CPU"}, nil
	}
	before, err := advised(ctx, m, program)
	if err != nil {
		return row, err
	}
	after, err := advised(ctx, m, copied)
	if err != nil {
		return row, err
	}
	const least = 64 << 20 // what the probe holds in one block
	if before >= 2<<20 || after < least {
		return row, fmt.Errorf("%d bytes of the heap ask for huge pages, patched %d: want none and at least %d", before, after, least)
	}
	return [3]string{"yes", fmt.Sprintf("%d MiB", before>>20), fmt.Sprintf("%d MiB", after>>20)}, nil
}

// advised runs the probe and returns how much of its heap asks for huge pages.
func advised(ctx context.Context, m mode, program string) (n int64, err error) {
	if m.arch == "arm64" {
		return advisedArm(ctx, program)
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", filepath.Base(program), err, out)
	}
	if _, err := fmt.Sscanf(string(out[strings.Index(string(out), "heap="):]), "heap=%d", &n); err != nil {
		return 0, fmt.Errorf("%s said %q", filepath.Base(program), out)
	}
	return n, nil
}

// advisedArm adds up the advice in qemu's trace: it does not reach the kernel's
// account.
func advisedArm(ctx context.Context, program string) (n int64, err error) {
	cmd := exec.CommandContext(ctx, "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-strace", program)
	var trace strings.Builder
	cmd.Stderr = &trace
	if out, err := cmd.Output(); err != nil {
		return 0, fmt.Errorf("%s under qemu-aarch64: %w: %s", filepath.Base(program), err, out)
	}
	for _, m := range advice.FindAllStringSubmatch(trace.String(), -1) {
		size, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return 0, err
		}
		if size >= 1<<20 {
			n += size
		}
	}
	return n, nil
}

// advice is a call in qemu's trace.
var advice = regexp.MustCompile(`madvise\(0x[0-9a-f]+,([0-9]+),(?:MADV_HUGEPAGE|14)\)`)

// A store collects what is to be written.
type store struct {
	forms    map[string]map[string]map[string][]string // arch, function, listing: releases
	programs []*fixture.Program
}

func newStore() *store { return &store{forms: map[string]map[string]map[string][]string{}} }

// add takes the listings of a program, and stores what Find will ask.
func (s *store) add(release string, m mode, program string) error {
	f, err := symbol.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	if release != "1.21.5" {
		l, err := codepatch.Listings(f)
		if err != nil {
			return err
		}
		for name, text := range l {
			s.form(m.arch, name, text, release)
		}
	}
	if !m.stored() {
		return nil
	}
	r := fixture.NewRecord(fmt.Sprintf("go%s %s %s", release, m.arch, m.name), f, codepatch.Functions()...)
	_, err = codepatch.Find(r)
	if err != nil {
		r.Program.Refused = err.Error()
	}
	s.programs = append(s.programs, r.Program)
	return nil
}
