// Package guard takes back what a process changed, whatever ends it: a second process, out of
// reach for what ends the first, is told of each change before it is made.
package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
)

// An Undo takes a change back. It passes through JSON.
type Undo interface {
	comparable
	Undo() error
}

// A Guard is a process that outlives this one, whatever ends it, and then takes
// back what was changed. It is told each change before it is made.
type Guard[U Undo] struct {
	in   io.WriteCloser
	out  *bufio.Reader
	pipe io.Closer
}

// message is a line to the guard: keep an undo, or drop it.
type message[U Undo] struct {
	Keep, Drop *U `json:",omitempty"`
}

// Start starts a guard: command runs this program so that it calls [Main].
func Start[U Undo](command []string) (*Guard[U], error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout = inR, outW
	cmd.SysProcAttr = ownSession()
	// The first process starts the second one, and ends: what remains has
	// another parent, and is out of reach for whatever ends this process's own.
	err = cmd.Run()
	inR.Close()
	outW.Close()
	g := &Guard[U]{in: inW, out: bufio.NewReader(outR), pipe: outR}
	if err == nil {
		err = g.answer()
	}
	if err != nil {
		g.in.Close()
		g.pipe.Close()
		return nil, fmt.Errorf("start the process that puts settings back: %w", err)
	}
	return g, nil
}

// Keep returns when it is remembered, so before the change is made.
func (g *Guard[U]) Keep(u U) error { return g.send(message[U]{Keep: &u}) }

// Drop says that a change was taken back.
func (g *Guard[U]) Drop(u U) error { return g.send(message[U]{Drop: &u}) }

func (g *Guard[U]) send(m message[U]) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := g.in.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("tell the process that puts settings back: %w", err)
	}
	return g.answer()
}

// answer waits for the guard to say that it is done.
func (g *Guard[U]) answer() error {
	line, err := g.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	if line != "ok\n" {
		return fmt.Errorf("unexpected answer %q", line)
	}
	return nil
}

// Close ends the guard, and waits for its end.
func (g *Guard[U]) Close() error {
	err := g.in.Close()
	_, rerr := io.Copy(io.Discard, g.out)
	return errors.Join(err, rerr, g.pipe.Close())
}

// Main is the main function of the guard's processes: of the one that [Start] starts, where
// args is empty, and of the one that this starts, and that stays. command, without the
// program, runs this program so that it calls Main with what follows as args.
func Main[U Undo](command, args []string, in io.Reader, out io.Writer) error {
	if len(args) > 0 {
		deafen()
		return Serve[U](in, out)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return detach(slices.Concat([]string{self}, command, []string{"stay"}))
}

// Serve is the guard's own main function. It reads messages from in until that
// ends, which it does when the process that started the guard ends, in whatever
// way; then it takes back what was not dropped.
func Serve[U Undo](in io.Reader, out io.Writer) error {
	var undos []U
	say := func() error { _, err := io.WriteString(out, "ok\n"); return err }
	err := say()
	sc := bufio.NewScanner(in)
	for err == nil && sc.Scan() {
		var m message[U]
		if err = json.Unmarshal(sc.Bytes(), &m); err != nil {
			break
		}
		if m.Keep != nil {
			undos = append(undos, *m.Keep)
		}
		if m.Drop != nil {
			for i, u := range slices.Backward(undos) {
				if u == *m.Drop {
					undos = slices.Delete(undos, i, i+1)
					break
				}
			}
		}
		err = say()
	}
	errs := []error{sc.Err()}
	if len(undos) == 0 {
		errs = append(errs, err)
	}
	for _, u := range slices.Backward(undos) {
		errs = append(errs, u.Undo())
	}
	return errors.Join(errs...)
}
