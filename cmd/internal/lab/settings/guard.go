package settings

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

// A guard is a process that outlives this one, whatever ends it, and then takes
// back what was changed. It is told each change before it is made.
type guard struct {
	in   io.WriteCloser
	out  *bufio.Reader
	pipe io.Closer
}

// message is a line to the guard: keep an undo, or drop it.
type message struct {
	Keep, Drop *undo `json:",omitempty"`
}

// startGuard starts the guard: command runs this program so that it calls
// [Guard].
func startGuard(command []string) (*guard, error) {
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
	g := &guard{in: inW, out: bufio.NewReader(outR), pipe: outR}
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

func (g *guard) keep(u undo) error { return g.send(message{Keep: &u}) }
func (g *guard) drop(u undo) error { return g.send(message{Drop: &u}) }

func (g *guard) send(m message) error {
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
func (g *guard) answer() error {
	line, err := g.out.ReadString('\n')
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	if line != "ok\n" {
		return fmt.Errorf("unexpected answer %q", line)
	}
	return nil
}

// close ends the guard, and waits for its end.
func (g *guard) close() error {
	err := g.in.Close()
	_, rerr := io.Copy(io.Discard, g.out)
	return errors.Join(err, rerr, g.pipe.Close())
}

// Main is the main function of the guard's processes: of the one that [New] starts, where
// args is empty, and of the one that this starts, and that stays. command, without the
// program, runs this program so that it calls Main with what follows as args.
func Main(command, args []string, in io.Reader, out io.Writer) error {
	if len(args) > 0 {
		deafen()
		return Guard(in, out)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return detach(slices.Concat([]string{self}, command, []string{"stay"}))
}

// Guard is the guard's own main function. It reads messages from in until that
// ends, which it does when the process that started the guard ends, in whatever
// way; then it takes back what was not dropped.
func Guard(in io.Reader, out io.Writer) error {
	var undos []undo
	say := func() error { _, err := io.WriteString(out, "ok\n"); return err }
	err := say()
	sc := bufio.NewScanner(in)
	for err == nil && sc.Scan() {
		var m message
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
		errs = append(errs, u.run())
	}
	return errors.Join(errs...)
}
