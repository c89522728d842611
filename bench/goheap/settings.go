package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/lab"
)

const thpDir = "/sys/kernel/mm/transparent_hugepage/"

// A change is a value for a file of the kernel.
type change struct{ path, value string }

const guardCommand = "guard"

// guardMain is the process that puts settings back when this program could not: see
// lab.Guard. The one that is started starts the one that stays, and ends.
func guardMain(args []string) error {
	if len(args) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return lab.Detach([]string{self, guardCommand, "stay"})
	}
	lab.Deafen()
	return lab.Guard(os.Stdin, os.Stdout)
}

// settings changes settings of the whole system, and puts them back.
type settings struct {
	in    io.WriteCloser
	out   *bufio.Reader
	close func() error
	now   []change // to put back, in the order in which they were made
}

// newSettings starts the guard.
func newSettings() (*settings, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, guardCommand)
	cmd.Stdin, cmd.Stdout = inR, outW
	err = cmd.Run()
	inR.Close()
	outW.Close()
	s := &settings{in: inW, out: bufio.NewReader(outR)}
	s.close = func() error {
		err := errors.Join(s.restore(), inW.Close())
		_, rerr := io.Copy(io.Discard, s.out) // it has ended
		return errors.Join(err, rerr, outR.Close())
	}
	if err == nil {
		err = s.answer()
	}
	if err != nil {
		return nil, fmt.Errorf("start the process that puts settings back: %w", err)
	}
	return s, nil
}

func (s *settings) answer() error {
	line, err := s.out.ReadString('\n')
	if err == nil && line != "ok\n" {
		err = fmt.Errorf("it says %q", line)
	}
	return err
}

// tell has the guard keep what is to be put back, or drop it.
func (s *settings) tell(what string, c change) error {
	data, err := json.Marshal(map[string]any{what: map[string]any{"Path": c.path, "Value": c.value}})
	if err != nil {
		return err
	}
	if _, err := s.in.Write(append(data, '\n')); err != nil {
		return err
	}
	return s.answer()
}

// apply makes changes, all or none.
func (s *settings) apply(changes []change) error {
	for _, c := range changes {
		now, err := read(c.path)
		if err == nil && now == c.value {
			continue
		}
		if err == nil {
			err = s.tell("Keep", change{c.path, now})
		}
		if err == nil {
			s.now = append(s.now, change{c.path, now})
			err = os.WriteFile(c.path, []byte(c.value), 0)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("write %s to %s (needs root): %w", c.value, c.path, err), s.restore())
		}
	}
	return nil
}

// restore puts all back.
func (s *settings) restore() error {
	var errs []error
	for _, c := range slices.Backward(s.now) {
		err := os.WriteFile(c.path, []byte(c.value), 0)
		if err == nil {
			err = s.tell("Drop", c)
		}
		errs = append(errs, err)
	}
	s.now = nil
	return errors.Join(errs...)
}

// read returns what a file of the kernel is set to.
func read(path string) (string, error) {
	data, err := os.ReadFile(path)
	text := strings.TrimSpace(string(data))
	if _, after, ok := strings.Cut(text, "["); ok {
		text, _, _ = strings.Cut(after, "]")
	}
	return text, err
}
